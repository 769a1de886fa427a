package read

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/mask"
)

// Redact replaces secrets in evidence that [Files] has read, which are whatever somebody saved, and lists what it masked in the
// evidence's Redactions. The same key gives the same secret the same placeholder; without one, nil, short secrets can be guessed.
// With strict, it also masks addresses, host names, namespaces and names of pods. Package collect has masked secrets already.
//
// What has not been masked when the context ends is left out of the evidence; cut says so, and is empty where all was done.
func Redact(ctx context.Context, e *forensics.Evidence, key []byte, strict bool) (cut string) {
	_, cut = mask.Until(ctx, e, key, strict)
	return cut
}
