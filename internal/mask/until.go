package mask

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// Until replaces secrets in evidence that did not come from collect.Collect, and lists what it masked in the evidence's
// Redactions; the same key gives the same secret the same placeholder (see [redact.New]). With strict, it also masks IP
// addresses, host names, namespaces and names of pods; loopback and unspecified addresses and namespaces that every cluster
// has (default, kube-system, kube-public, kube-node-lease) stay, and so do UIDs, container ids, digests and the paths around
// masked names. text masks further texts in the same way.
//
// Evidence may be made so that masking takes long. What has not been masked when the context ends is left out. The error
// says what. With strict, nothing but the time and the root is left then: which words are names is not known before all
// was read.
func Until(ctx context.Context, e *forensics.Evidence, key []byte, strict bool) (text func(where, s string) string, err error) {
	r := redact.New(key)
	masked, left := maskUntil(ctx, r, *e)
	text = r.Text
	if len(left) > 0 {
		err = fmt.Errorf("the timeout expired before secrets were masked in %s; what was not masked is left out", strings.Join(left, ", "))
	}
	if strict {
		strictly, ok := finished(ctx, func() maskedNames {
			part := masked
			return maskedNames{strictText(r, &part), part}
		})
		if masked, text = strictly.evidence, strictly.text; !ok {
			masked, text = forensics.NewEvidence(), func(string, string) string { return "" }
			masked.Collected, masked.Root = e.Collected, e.Root
			err = errors.New("the timeout expired before names were masked; the evidence is left out")
		}
	}
	masked.Redactions = slices.Concat(masked.Redactions, r.Ledger())
	if err != nil {
		masked.Cover(forensics.Source{Source: forensics.SourceAnalysis, Status: forensics.SourceTruncated, Detail: err.Error()})
	}
	*e = masked
	return text, err
}

type maskedNames struct {
	text     func(where, s string) string
	evidence forensics.Evidence
}

// StringsUntil is [Strings] with a deadline. If the context ends first, it returns false and leaves v as it was.
func StringsUntil[T any](ctx context.Context, v *T, where string, text func(where, s string) string) bool {
	masked, ok := finished(ctx, func() T {
		part := *v // what is changed is copied
		Strings(&part, where, text)
		return part
	})
	if ok {
		*v = masked
	}
	return ok
}

// finished is what f returns, if it does so before the context ends. f goes on, with what nobody uses any more.
func finished[T any](ctx context.Context, f func() T) (result T, ok bool) {
	if ctx.Err() != nil {
		return result, false
	}
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case result = <-done:
		return result, true
	case <-ctx.Done():
		return result, false
	}
}

// maskPiece is how many elements of a list are masked together. Of what has come back late, nothing is used.
const maskPiece = 16

// A maskRun is masking under way, piece by piece: each is put into an empty Evidence, masked there and taken out.
type maskRun struct {
	ctx context.Context
	r   *redact.Redactor

	mu     sync.Mutex
	ended  bool
	result reflect.Value // an Evidence with what has been masked
	left   []string      // the fields of Evidence that are not whole
}

// maskUntil masks evidence until the context ends. left are the names of the fields that are not whole.
func maskUntil(ctx context.Context, r *redact.Redactor, e forensics.Evidence) (masked forensics.Evidence, left []string) {
	run := maskRun{ctx: ctx, r: r, result: reflect.New(reflect.TypeFor[forensics.Evidence]()).Elem()}
	run.result.Set(reflect.ValueOf(forensics.NewEvidence()))
	source := reflect.ValueOf(e)
	for i := range source.NumField() {
		if name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ","); !source.Field(i).IsZero() {
			run.left = append(run.left, name)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range source.NumField() {
			if field := source.Field(i); !field.IsZero() {
				if !run.mask([]int{i}, field) {
					return
				}
				run.mu.Lock()
				run.left = run.left[1:]
				run.mu.Unlock()
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.ended = true
	return run.result.Interface().(forensics.Evidence), run.left
}

// mask masks what stands at a path of fields, and returns false if the time was up.
func (m *maskRun) mask(path []int, v reflect.Value) bool {
	inner := v
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		inner = v.Elem()
	}
	switch {
	case inner.Kind() == reflect.Struct && inner.Type() != reflect.TypeFor[time.Time]():
		if !m.put(path, emptied(v, inner)) {
			return false
		}
		for i := range inner.NumField() {
			if field := inner.Field(i); inner.Type().Field(i).IsExported() && !field.IsZero() && !m.mask(append(slices.Clone(path), i), field) {
				return false
			}
		}
		return true
	case v.Kind() == reflect.Slice && v.Len() > maskPiece && !plainNumber(v.Type().Elem()):
		for i := 0; i < v.Len(); i += maskPiece {
			if !m.piece(path, v.Slice(i, min(i+maskPiece, v.Len()))) {
				return false
			}
		}
		return true
	}
	return m.piece(path, v)
}

// plainNumber says that there is nothing to mask in a value of a type.
func plainNumber(t reflect.Type) bool { return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 }

// piece masks one piece and adds it to the result.
func (m *maskRun) piece(path []int, v reflect.Value) bool {
	if m.ctx.Err() != nil {
		return false
	}
	var part forensics.Evidence
	own := v
	if v.Kind() == reflect.Slice { // mask may write into it
		own = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
	}
	fieldAt(reflect.ValueOf(&part).Elem(), path).Set(own)
	Part(m.r, &part)
	return m.put(path, fieldAt(reflect.ValueOf(&part).Elem(), path))
}

// put puts a masked piece into the result, behind what is there of a list.
func (m *maskRun) put(path []int, v reflect.Value) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return false
	}
	if at := fieldAt(m.result, path); v.Kind() == reflect.Slice && at.Len() > 0 {
		at.Set(reflect.AppendSlice(at, v))
	} else {
		at.Set(v)
	}
	return true
}

// emptied is a struct without what is in it, or a pointer to one; lists and maps that there are stay, empty.
func emptied(v, inner reflect.Value) reflect.Value {
	p := reflect.New(inner.Type())
	for i := range inner.NumField() {
		switch field := inner.Field(i); {
		case !inner.Type().Field(i).IsExported():
		case field.Kind() == reflect.Slice && !field.IsNil():
			p.Elem().Field(i).Set(reflect.MakeSlice(field.Type(), 0, 0))
		case field.Kind() == reflect.Map && !field.IsNil():
			p.Elem().Field(i).Set(reflect.MakeMap(field.Type()))
		}
	}
	if v.Kind() == reflect.Pointer {
		return p
	}
	return p.Elem()
}

// fieldAt goes down a path of fields, and makes what pointers on it point to.
func fieldAt(v reflect.Value, path []int) reflect.Value {
	for _, i := range path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}
