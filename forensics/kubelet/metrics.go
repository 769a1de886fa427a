package kubelet

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxSeries bounds what ParseMetrics keeps, maxMetricLine what it takes for one line.
const (
	maxSeries     = 5000
	maxMetricLine = 64 << 10
)

// ErrMalformed says that a part of the metrics was not understood, or was too much.
var ErrMalformed = errors.New("malformed metrics")

// ParseMetrics reads the Prometheus text format and keeps the series that show a housekeeping, a PLEG, a volume operation or the
// process itself in trouble, its goroutines, start and version among them. The keys are the series as exposed, labels included; timestamps and exemplars are dropped. Not-a-number and infinite
// values are left out: JSON has neither.
//
// A line that is no series is skipped and named in the error, an [ErrMalformed], which also says when more than 5,000 series were
// accepted. What was understood is returned in any case.
func ParseMetrics(r io.Reader) (map[string]float64, error) { return parseMetrics(r, vital) }

// parseMetrics keeps the series whose name, without labels, keep accepts.
func parseMetrics(r io.Reader, keep func(name string) bool) (map[string]float64, error) {
	metrics := map[string]float64{}
	lines := bufio.NewReaderSize(r, maxMetricLine)
	var bad error
	for number := 1; ; number++ {
		line, long, err := readLine(lines)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return metrics, fmt.Errorf("line %d: %w", number, err)
		case long:
			bad = cmp.Or(bad, fmt.Errorf("%w: line %d is longer than %d bytes", ErrMalformed, number, maxMetricLine))
		case line != "" && line[0] != '#':
			series, value, ok := parseSample(line)
			if !ok {
				bad = cmp.Or(bad, fmt.Errorf("%w: line %d is not a sample", ErrMalformed, number))
			} else if keepSample(series, value, keep) {
				if len(metrics) == maxSeries {
					return metrics, fmt.Errorf("%w: more than %d series", ErrMalformed, maxSeries)
				}
				metrics[series] = value
			}
		}
		if err != nil {
			return metrics, bad
		}
	}
}

// readLine returns the next line without its end. A line that does not fit into the reader's buffer is consumed and
// reported as long.
func readLine(r *bufio.Reader) (line string, long bool, err error) {
	part, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return strings.TrimSpace(string(part)), false, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return "", true, err
}

// parseSample splits `name{label="value"} 1.5 1395066363000`. Label values may contain blanks, braces and escaped
// quotes.
func parseSample(line string) (series string, value float64, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", 0, false
	}
	if line[end] == '{' {
		labels := labelsEnd(line[end:])
		if labels < 0 {
			return "", 0, false
		}
		end += labels
	}
	fields := strings.Fields(line[end:])
	if len(fields) == 0 {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return "", 0, false
	}
	return line[:end], value, true
}

// labelsEnd returns the index behind the closing brace, -1 if there is none.
func labelsEnd(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}

func keepSample(series string, value float64, keep func(string) bool) bool {
	name, labels, _ := strings.Cut(series, "{")
	return !math.IsNaN(value) && !math.IsInf(value, 0) &&
		!strings.HasSuffix(name, "_bucket") && !strings.Contains(labels, `quantile="`) && keep(name)
}

// VersionFromMetrics returns the version in the label of kubernetes_build_info, without v; "" if there is none, or the
// binary was built without one ("v0.0.0-master+$Format:%H$").
func VersionFromMetrics(metrics map[string]float64) string {
	labels := labelsOf(metrics, "kubernetes_build_info")
	for _, name := range []string{"git_version", "gitVersion"} { // renamed in 1.18
		if version := cleanVersion(label(labels, name)); version != "" {
			return version
		}
	}
	return ""
}

// labelsOf returns the labels of a metric that has one series only, from the opening brace on.
func labelsOf(metrics map[string]float64, name string) string {
	for series := range metrics {
		if labels, ok := strings.CutPrefix(series, name); ok && strings.HasPrefix(labels, "{") {
			return labels
		}
	}
	return ""
}

// label returns the value of one label; these values hold no escapes.
func label(labels, name string) string {
	for _, before := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(labels, before+name+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}

// cleanVersion strips the v of a version, and returns "" for what is none or the placeholder of an unstamped build.
func cleanVersion(version string) string {
	version = strings.TrimPrefix(version, "v")
	if strings.IndexAny(version, "0123456789") != 0 || strings.HasPrefix(version, "0.0.0") {
		return ""
	}
	return version
}
