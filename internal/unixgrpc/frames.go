package unixgrpc

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	h2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7
	frameWindow   = 8

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8

	settingWindow = 4 // SETTINGS_INITIAL_WINDOW_SIZE

	maxFrame  = 1 << 14 // what a peer may send that was not told otherwise
	minFrames = 100
	perFrame  = 1 << 10   // so many bytes of an answer are in a frame on average, at least
	room      = 1<<16 - 1 // what a peer may send before it waits to hear that there is more room (RFC 9113, 6.9.2)
)

// request is the call of a method with an empty message. A peer that may answer with more than a connection has room for is
// told at once that there is room for all of it, and never more.
func request(method string, limit int) []byte {
	var headers []byte
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/" + method},
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
	var settings, window []byte
	if need := limit + maxFrame; need > room { // the prefix of the message and padding count as well
		settings = binary.BigEndian.AppendUint32([]byte{0, settingWindow}, uint32(need))
		window = appendFrame(nil, frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, uint32(need-room)))
	}
	b := appendFrame([]byte(h2Preface), frameSettings, 0, 0, settings)
	b = append(b, window...)
	b = appendFrame(b, frameHeaders, flagEndHeaders, 1, headers)
	return appendFrame(b, frameData, flagEndStream, 1, make([]byte, 5)) // not compressed, an empty message
}

func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// readMessage reads frames until the message of stream 1 is whole, of at most limit bytes. An answer that has headers only is an error in
// gRPC; which one is said in compressed headers and not read.
func readMessage(conn io.ReadWriter, limit int) ([]byte, error) {
	var body []byte
	for range minFrames + limit/perFrame {
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
			body = append(body, unpad(flags, payload)...)
			switch {
			case len(body) >= prefix && body[0] != 0:
				return nil, errNoMessage
			case len(body) >= prefix && uint64(binary.BigEndian.Uint32(body[1:])) > uint64(limit):
				return nil, fmt.Errorf("its answer is longer than %d bytes", limit)
			}
			if message, ok := wholeMessage(body); ok {
				return message, nil
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

// prefix is what a gRPC message begins with: a flag for compression and the length.
const prefix = 5

// wholeMessage takes the prefix off a message that is not compressed.
func wholeMessage(body []byte) ([]byte, bool) {
	if len(body) < prefix {
		return nil, false
	}
	n := binary.BigEndian.Uint32(body[1:])
	if uint64(len(body)) < prefix+uint64(n) {
		return nil, false
	}
	return body[prefix : prefix+n], true
}
