package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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
	text, err := io.ReadAll(io.LimitReader(file, maxRedactKey))
	if err != nil {
		return nil, "", fmt.Errorf("--redact-key %s: %w", o.redactKey, err)
	}
	if len(text) < minRedactKey {
		return nil, "", usagef("--redact-key %s: %d bytes, want at least %d", o.redactKey, len(text), minRedactKey)
	}
	sum := sha256.Sum256(text)
	mac := hmac.New(sha256.New, sum[:])
	mac.Write([]byte("name of the key"))
	return sum[:], hex.EncodeToString(mac.Sum(nil)[:8]), nil
}

// nameKey notes the key of the placeholders in saved evidence. If some of them are of another key, it has none.
func nameKey(e *forensics.Evidence, name string) {
	if len(e.Redactions) > 0 && e.Collector.RedactionKey != name {
		name = ""
	}
	e.Collector.RedactionKey = name
}
