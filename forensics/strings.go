package forensics

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/stackdump"
)

// Fields whose strings are words of the kernel, of Go or of Kubernetes, which checks compare, and never a site's own. All
// other strings of the evidence may hold anything.
var vocabulary = map[reflect.Type][]string{
	reflect.TypeFor[stackdump.Frame]():     {"*"},
	reflect.TypeFor[stackdump.Goroutine](): {"State"},
	reflect.TypeFor[CPUStack]():            {"Frames"},
	reflect.TypeFor[procs.Wait]():          {"*"},
	reflect.TypeFor[procs.Syscall]():       {"*"},
	reflect.TypeFor[procs.Thread]():        {"Comm", "State", "WChan", "Stack", "PathFrom", "WaitFrom", "Device"},
	reflect.TypeFor[procs.Process]():       {"Comm", "State", "PodUID", "ContainerID"},
	reflect.TypeFor[mounts.Mount]():        {"Device", "FSType"},
	reflect.TypeFor[mounts.Health]():       {"Device", "Call", "Method"},
	reflect.TypeFor[kubelet.Volume]():      {"Plugin"},
	reflect.TypeFor[kubelet.VolData]():     {"Driver"},
	reflect.TypeFor[kubelet.Pod]():         {"UID", "Phase", "MirrorUID"},
	reflect.TypeFor[kubelet.Endpoint]():    {"Status"},
	reflect.TypeFor[Evidence]():            {"Schema"},
	reflect.TypeFor[Node]():                {"Kernel", "Arch"},
	reflect.TypeFor[Collector]():           {"Version"},
}

// mapStrings applies f to every string below v but the vocabulary, and returns the result, which shares what did not
// change with v. where is the JSON name of the part of the evidence that a string is in.
func mapStrings(v reflect.Value, where string, f func(where, s string) string) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[string]() { // an enumeration
			return v, false
		}
		old := v.String()
		if s := f(where, old); s != old {
			return reflect.ValueOf(s), true
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return v, false
		}
		return mapFields(v, where, f)
	case reflect.Slice:
		return mapElements(v, where, f)
	case reflect.Map:
		return mapEntries(v, where, f)
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		inner, changed := mapStrings(v.Elem(), where, f)
		if !changed {
			return v, false
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(inner)
		return p, true
	}
	return v, false
}

func mapFields(v reflect.Value, where string, f func(where, s string) string) (reflect.Value, bool) {
	t, out, copied := v.Type(), v, false
	skipped := vocabulary[t]
	if len(skipped) == 1 && skipped[0] == "*" {
		return v, false
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() || slices.Contains(skipped, field.Name) {
			continue
		}
		inside := where
		if t == reflect.TypeFor[Evidence]() {
			inside, _, _ = strings.Cut(field.Tag.Get("json"), ",")
		}
		inner, changed := mapStrings(v.Field(i), inside, f)
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

func mapElements(v reflect.Value, where string, f func(where, s string) string) (reflect.Value, bool) {
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer:
	default:
		return v, false
	}
	out, copied := v, false
	for i := range v.Len() {
		inner, changed := mapStrings(v.Index(i), where, f)
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

func mapEntries(v reflect.Value, where string, f func(where, s string) string) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	out, changed := reflect.MakeMapWithSize(v.Type(), v.Len()), false
	for it := v.MapRange(); it.Next(); {
		key, keyChanged := mapStrings(it.Key(), where, f)
		value, valueChanged := mapStrings(it.Value(), where, f)
		out.SetMapIndex(key, value)
		changed = changed || keyChanged || valueChanged
	}
	if !changed {
		return v, false
	}
	return out, true
}
