package live

import (
	"encoding/binary"
	"fmt"
	"io"
)

// One gRPC call needs little of HTTP/2 (RFC 9113): a preface, settings, one request without compression of its headers, and
// to read frames until the answer is there. The client of net/http does not serve: from a hostile peer it reads frames without
// bound until the deadline, and logs each one that it does not know to standard error. A gRPC library would add more to this
// program than the rest of the package.
const (
	h2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8

	maxFrame  = 1 << 14 // what a peer may send that was not told otherwise
	maxFrames = 100
	maxAnswer = 32 << 10 // less than a peer sends before it waits to hear that there is room (RFC 9113, 6.9.2)
)

// callVersion calls RuntimeService/Version of a version of the CRI ("runtime.v1") and returns the message of the answer.
func callVersion(conn io.ReadWriter, service string) ([]byte, error) {
	var headers []byte
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/" + service + ".RuntimeService/Version"},
		{":authority", "localhost"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
		{"user-agent", "nodeforensics"},
	} { // RFC 7541, 6.2.2: literal without indexing, new name; all are shorter than 127
		headers = append(headers, 0, byte(len(h[0])))
		headers = append(headers, h[0]...)
		headers = append(headers, byte(len(h[1])))
		headers = append(headers, h[1]...)
	}
	request := []byte(h2Preface)
	request = appendFrame(request, frameSettings, 0, 0, nil)
	request = appendFrame(request, frameHeaders, flagEndHeaders, 1, headers)
	request = appendFrame(request, frameData, flagEndStream, 1, make([]byte, 5)) // not compressed, an empty message
	if _, err := conn.Write(request); err != nil {
		return nil, noAnswer("asking", err)
	}
	return readMessage(conn)
}

func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// readMessage reads frames until the message of stream 1 is whole. An answer that has headers only is an error in
// gRPC; which one is said in compressed headers and not read.
func readMessage(conn io.ReadWriter) ([]byte, error) {
	var body []byte
	for range maxFrames {
		kind, flags, stream, payload, err := readFrame(conn)
		if err != nil {
			return nil, noAnswer("answer", err)
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			_, err = conn.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
		case kind == framePing && flags&flagAck == 0:
			_, err = conn.Write(appendFrame(nil, framePing, flagAck, 0, payload))
		case kind == frameGoAway, kind == frameReset && stream == 1:
			return nil, errNoMessage
		case kind == frameData && stream == 1:
			if body = append(body, unpad(flags, payload)...); len(body) > maxAnswer {
				return nil, errNoMessage
			}
			if message, ok := wholeMessage(body); ok {
				return message, nil
			}
			if len(body) >= 5 && (body[0] != 0 || binary.BigEndian.Uint32(body[1:]) > maxAnswer) {
				return nil, errNoMessage
			}
		}
		if err != nil {
			return nil, noAnswer("answer", err)
		}
		if stream == 1 && flags&flagEndStream != 0 && (kind == frameHeaders || kind == frameData) {
			return nil, errNoMessage
		}
	}
	return nil, errNoMessage
}

func readFrame(r io.Reader) (kind, flags byte, stream uint32, payload []byte, err error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, 0, nil, err
	}
	n := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	if n > maxFrame {
		return 0, 0, 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]) &^ (1 << 31), payload, err
}

// unpad removes the padding of a data frame (RFC 9113, 6.1).
func unpad(flags byte, payload []byte) []byte {
	if flags&flagPadded == 0 || len(payload) == 0 {
		return payload
	}
	if padding := int(payload[0]); padding < len(payload) {
		return payload[1 : len(payload)-padding]
	}
	return nil
}

// wholeMessage takes the prefix off a gRPC message: a flag for compression and the length.
func wholeMessage(body []byte) ([]byte, bool) {
	if len(body) < 5 || body[0] != 0 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(body[1:])
	if uint64(len(body)) < 5+uint64(n) {
		return nil, false
	}
	return body[5 : 5+n], true
}
