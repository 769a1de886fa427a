package stall

import "strings"

// symbol is a function's name in its parts.
type symbol struct{ pkg, typ, name string }

// splitSymbol splits "k8s.io/x/pkg/y.(*T).Method.func1": package, type without star ("" for a function), and the
// method or function without closures.
func splitSymbol(s string) symbol {
	slash := strings.LastIndexByte(s, '/')
	if i := strings.IndexAny(s, "(["); i >= 0 && slash > i { // a path among type arguments
		slash = strings.LastIndexByte(s[:i], '/')
	}
	dot := strings.IndexByte(s[slash+1:], '.')
	if dot < 0 {
		return symbol{name: s}
	}
	dot += slash + 1
	pkg, rest := s[:dot], s[dot+1:]
	if strings.HasPrefix(rest, "(*") {
		if typ, method, ok := strings.Cut(rest[2:], ")."); ok {
			typ, _, _ = strings.Cut(typ, "[")
			return symbol{pkg, typ, baseName(method)}
		}
	}
	if typ, method, ok := strings.Cut(rest, "."); ok && !strings.HasPrefix(method, "func") && !strings.HasPrefix(method, "gowrap") {
		return symbol{pkg, typ, baseName(method)} // a value receiver
	}
	return symbol{pkg: pkg, name: baseName(rest)}
}

// baseName cuts closures and the mark of method values.
func baseName(method string) string {
	method, _, _ = strings.Cut(method, ".")
	return strings.TrimSuffix(method, "-fm")
}
