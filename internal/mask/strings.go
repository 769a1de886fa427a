package mask

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Fields whose strings are words of the kernel, of Go or of Kubernetes, which checks compare, and never a site's own. All
// other strings of the evidence may hold anything.
var vocabulary = map[reflect.Type][]string{
	reflect.TypeFor[goroutines.Frame]():     {"*"},
	reflect.TypeFor[goroutines.Goroutine](): {"State"},
	reflect.TypeFor[goroutines.CPUStack]():  {"Frames"},
	reflect.TypeFor[procs.Wait]():           {"*"},
	reflect.TypeFor[procs.Syscall]():        {"*"},
	reflect.TypeFor[procs.Thread]():         {"Comm", "State", "WChan", "Stack", "PathFrom", "WaitFrom", "Device"},
	reflect.TypeFor[procs.Process]():        {"Comm", "State", "PodUID", "ContainerID"},
	reflect.TypeFor[mounts.Mount]():         {"Device", "FSType"},
	reflect.TypeFor[mounts.Probe]():         {"Device", "Call", "Errno"},
	reflect.TypeFor[mounts.FUSEQueue]():     {"Device"},
	reflect.TypeFor[mounts.DiskProgress]():  {"Device"},
	reflect.TypeFor[kubelet.Volume]():       {"Plugin"},
	reflect.TypeFor[kubelet.VolData]():      {"Driver"},
	reflect.TypeFor[kubelet.Pod]():          {"UID", "Phase", "MirrorUID"},
	reflect.TypeFor[kubelet.Endpoint]():     {"Status"},
	reflect.TypeFor[forensics.Evidence]():   {"Schema"},
	reflect.TypeFor[forensics.Node]():       {"Kernel", "Arch"},
	reflect.TypeFor[forensics.Collector]():  {"Version"},
}

// mapStrings applies f to every string below v but the vocabulary, and returns the result, which shares what did not
// change with v. where is the JSON name of the part of the evidence that a string is in.
func mapStrings(v reflect.Value, where string, f func(where, s string) string) (reflect.Value, bool) {
	return stringMap{vocabulary, f}.of(v, where)
}

// mapAllStrings is mapStrings for the vocabulary, too: evidence is a file that anybody may have written. Only the frames of
// goroutines are left to frameMask, since there are millions.
func mapAllStrings(v reflect.Value, where string, f func(where, s string) string) (reflect.Value, bool) {
	return stringMap{map[reflect.Type][]string{reflect.TypeFor[goroutines.Frame](): {"*"}}, f}.of(v, where)
}

// A stringMap changes strings with f, but for fields that are skipped, "*" for all of a type.
type stringMap struct {
	skipped map[reflect.Type][]string
	f       func(where, s string) string
}

func (m stringMap) of(v reflect.Value, where string) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[string]() { // an enumeration
			return v, false
		}
		old := v.String()
		if s := m.f(where, old); s != old {
			return reflect.ValueOf(s), true
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return v, false
		}
		return m.fields(v, where)
	case reflect.Slice:
		return m.elements(v, where)
	case reflect.Map:
		return m.entries(v, where)
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		inner, changed := m.of(v.Elem(), where)
		if !changed {
			return v, false
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(inner)
		return p, true
	}
	return v, false
}

func (m stringMap) fields(v reflect.Value, where string) (reflect.Value, bool) {
	t, out, copied := v.Type(), v, false
	skipped := m.skipped[t]
	if len(skipped) == 1 && skipped[0] == "*" {
		return v, false
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() || slices.Contains(skipped, field.Name) {
			continue
		}
		inside := where
		if t == reflect.TypeFor[forensics.Evidence]() {
			inside, _, _ = strings.Cut(field.Tag.Get("json"), ",")
		}
		inner, changed := m.of(v.Field(i), inside)
		if !changed {
			continue
		}
		if !copied {
			out, copied = reflect.New(t).Elem(), true
			out.Set(v)
		}
		out.Field(i).Set(inner)
	}
	return out, copied
}

func (m stringMap) elements(v reflect.Value, where string) (reflect.Value, bool) {
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer:
	default:
		return v, false
	}
	out, copied := v, false
	for i := range v.Len() {
		inner, changed := m.of(v.Index(i), where)
		if !changed {
			continue
		}
		if !copied {
			out, copied = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
			reflect.Copy(out, v)
		}
		out.Index(i).Set(inner)
	}
	return out, copied
}

func (m stringMap) entries(v reflect.Value, where string) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	out, changed := reflect.MakeMapWithSize(v.Type(), v.Len()), false
	for it := v.MapRange(); it.Next(); {
		key, keyChanged := m.of(it.Key(), where)
		value, valueChanged := m.of(it.Value(), where)
		out.SetMapIndex(key, value)
		changed = changed || keyChanged || valueChanged
	}
	if !changed {
		return v, false
	}
	return out, true
}
