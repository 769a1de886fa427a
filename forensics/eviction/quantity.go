package eviction

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// quantity is the grammar of resource.Quantity (k8s.io/apimachinery/pkg/api/resource): a decimal number and a suffix that
// is binary (Ki), decimal (k, m) or an exponent (e3).
var quantity = pattern.New(`^([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+|)$`)

// parseQuantity reads a quantity as the kubelet does: "100Mi", "1.5G", "5e8". What is smaller than one is rounded up, what
// is larger than a signed 64 bit number becomes that.
func parseQuantity(s string) (int64, error) {
	parts := quantity.FindStringSubmatch(s)
	if parts == nil || len(s) > 64 {
		return 0, fmt.Errorf("%.40q is not a quantity: use a number with a suffix, such as 100Mi or 1.5G", s)
	}
	value, ok := new(big.Rat).SetString(strings.TrimSuffix(parts[2], "."))
	if !ok {
		return 0, fmt.Errorf("%.40q is not a quantity", s)
	}
	base, exponent := suffixOf(parts[3])
	switch {
	case value.Sign() == 0:
		return 0, nil
	case exponent > 40:
		value.SetInt64(math.MaxInt64)
	case exponent < -40:
		value.SetInt64(1)
	default:
		factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(max(exponent, -exponent))), nil))
		if exponent < 0 {
			factor.Inv(factor)
		}
		value.Mul(value, factor)
	}
	whole, rest := new(big.Int).QuoRem(value.Num(), value.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		whole.Add(whole, big.NewInt(1))
	}
	n := int64(math.MaxInt64)
	if whole.IsInt64() {
		n = whole.Int64()
	}
	if parts[1] == "-" {
		n = -n
	}
	return n, nil
}

// suffixOf is a suffix as a power: Ki is 1024^1, M is 10^6, e3 is 10^3.
func suffixOf(suffix string) (base int64, exponent int) {
	if i := strings.Index("KMGTPE", suffix[:min(len(suffix), 1)]); len(suffix) == 2 && suffix[1] == 'i' {
		return 1024, i + 1
	}
	switch suffix {
	case "":
		return 10, 0
	case "n", "u", "m":
		return 10, map[string]int{"n": -9, "u": -6, "m": -3}[suffix]
	case "k", "M", "G", "T", "P", "E":
		return 10, 3 * (strings.Index("kMGTPE", suffix) + 1)
	}
	n, err := strconv.Atoi(suffix[1:])
	if err != nil { // more digits than a number has
		n = math.MaxInt32
		if suffix[1] == '-' {
			n = -n
		}
	}
	return 10, n
}
