package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// The length of a key of --redact-key in bytes. Guesses can be tried against placeholders of a shorter one.
const minRedactKey, maxRedactKey = 16, 64 << 10

func newRedactKey() ([]byte, error) {
	key := make([]byte, 32)
	_, err := rand.Read(key)
	return key, err
}

// sharedKey is the key of --redact-key and its name, which tells nothing of it; without the flag, a new key without a name.
func (o *outputFlags) sharedKey() (key []byte, name string, err error) {
	if o.redactKey == "" {
		key, err = newRedactKey()
		return key, "", err
	}
	file, err := openInput(o.redactKey)
	if err != nil {
		return nil, "", fmt.Errorf("--redact-key %s: %w", o.redactKey, err)
	}
	defer func() { _ = file.Close() }()
	key, n, err := readKey(file)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("--redact-key %s: %w", o.redactKey, err)
	case n < minRedactKey:
		return nil, "", usagef("--redact-key %s: %d bytes, want at least %d", o.redactKey, n, minRedactKey)
	}
	return key, keyName(key), nil
}

// readKey reads the text of a key, which has n bytes. A key that keyLine has written ends with its line: the pipe that it comes from may stay open.
func readKey(in io.Reader) (key []byte, n int, err error) {
	text := bufio.NewReader(io.LimitReader(in, maxRedactKey))
	line, err := text.ReadBytes('\n')
	if digits, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(keyPrefix)); ok && len(digits) == hex.EncodedLen(sha256.Size) {
		if key, err := hex.DecodeString(string(digits)); err == nil {
			return key, len(line), nil
		}
	}
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(text)
		line = append(line, rest...)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sum := sha256.Sum256(line)
	return sum[:], len(line), err
}

// keyPrefix begins the text of a key that is a key itself; of other texts it is the checksum.
const keyPrefix = "nodeforensics-key:"

// keyLine is a text by which readKey gives the key.
func keyLine(key []byte) string { return keyPrefix + hex.EncodeToString(key) }

func keyName(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("name of the key"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// nameKey notes the key of the placeholders in saved evidence. If some of them are of another key, it has none.
func nameKey(e *forensics.Evidence, name string) {
	if len(e.Redactions) > 0 && e.Collector.RedactionKey != name {
		name = ""
	}
	e.Collector.RedactionKey = name
}
