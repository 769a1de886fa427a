package read

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/mask"
)

// Redact replaces secrets in evidence that [Files] has read, which may have any content, and lists what it masked in the
// evidence's Redactions. The same key gives the same secret the same placeholder; without one, nil, short secrets can be
// guessed. With strict, it also masks addresses, host names, namespaces and names of pods. Package collect has masked
// secrets already.
//
// What has not been masked when the context ends is left out of the evidence; the error says so.
func Redact(ctx context.Context, e *forensics.Evidence, key []byte, strict bool) error {
	_, err := mask.Until(ctx, e, key, strict)
	return err
}
