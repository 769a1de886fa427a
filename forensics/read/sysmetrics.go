package read

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A metricReader reads how many goroutines a kubelet has, by its metrics that somebody has noted one below the other or in a table.
type metricReader struct {
	to     *systemText
	name   string
	ours   bool // what stands above is about a kubelet, and not about another program
	column int  // of a table, from 1
	query  bool // a query for the number is above
	series bool // the answer to a query is above: a time and a number on each line
}

const goroutineMetric = "go_goroutines"

var (
	kubeletMetrics = pattern.New(`/proxy/metrics|:1025[05]/metrics|:(?:10248|1025[05])/debug/pprof`)
	// otherMetrics are those of the API server, or of a program that has the same name for the number.
	otherMetrics  = pattern.New(`/metrics\b|\b(?:apiserver|etcd|scheduler|controller-manager|kube-proxy|coredns|prometheus|containerd)\b|\{[^}]*\bjob="`)
	goroutinesNow = pattern.New(`\bgo_goroutines(?:\{[^}]*\})?\s+(?:=>\s*)?(\d[\d.e+]*)(?:\s*@.*)?\s*$`)
	// profiled is the first line of a profile, of which somebody shows nothing else.
	profiled = pattern.New(`^[*_> ]*goroutine profile: total (\d+)[*_ ]*$`)
	// sample is one of the answer to a query, and compared what somebody writes before the number of another node.
	sample   = pattern.New(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?Z?\s+(\d[\d.e+]*)$`)
	compared = pattern.New(`(?i)\b(?:nodes?|others?|neighbou?rs?|peers?|healthy|good|compared?|same)\b.*\bgo_goroutines\b`)
	// rowOfSeries is a row that shows the labels of a series in place of its name.
	rowOfSeries = pattern.New(`^\{[^}]*\bjob="kubelet"[^}]*\}(?:\s+|\s*\|\s*|\s*=>\s*)(\d[\d.e+]*)(?:\s*@.*)?$`)
	// rowOfKubelet is what a query has of one kubelet: its address, and one sample or several.
	rowOfKubelet = pattern.New(`^[\w.-]+:1025[05](?:\s+|\s*\|\s*)(?:\d[\d.e+]*(?:\s+|\s*\|\s*))*(\d[\d.e+]*)$`)
)

func (r *metricReader) line(s string, _ int) {
	text := strings.TrimSpace(s)
	switch {
	case kubeletMetrics.MatchString(text), strings.Contains(text, `job="kubelet"`):
		r.ours = true
	case otherMetrics.MatchString(text):
		r.ours = false
	case strings.Contains(text, "kubelet"):
		r.ours = true
	}
	cells := strings.Split(strings.Trim(text, "| "), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if i := slices.Index(cells, goroutineMetric); i >= 0 && len(cells) > 1 {
		r.column = i + 1
		return
	}
	number := ""
	if strings.HasPrefix(text, goroutineMetric+"{") {
		r.series = strings.HasSuffix(text, "}")
	}
	if m := sample.FindStringSubmatch(text); m != nil && r.series {
		number = m[1]
	} else if m := goroutinesNow.FindStringSubmatch(text); m != nil {
		number = m[1]
	} else if m := profiled.FindStringSubmatch(text); m != nil {
		number = m[1]
	} else if r.column > 0 && len(cells) >= r.column {
		number = cells[r.column-1]
	}
	if strings.Contains(text, goroutineMetric) && !strings.HasPrefix(text, goroutineMetric) {
		r.query = strings.HasSuffix(text, ")") || strings.HasSuffix(text, "}") || strings.HasSuffix(text, goroutineMetric)
	}
	row := rowOfKubelet.FindStringSubmatch(strings.Trim(text, "| "))
	if m := rowOfSeries.FindStringSubmatch(strings.Trim(text, "| ")); m != nil && r.query {
		row = m
	}
	if row != nil {
		number = row[1]
	}
	if n, err := strconv.ParseFloat(number, 64); err == nil && r.ours && (row == nil && !strings.Contains(text, goroutineMetric+"{") && !compared.MatchString(text) || n > r.to.goroutines) { // of several kubelets the one that has most
		r.to.goroutines = n
		r.to.saw(forensics.SourceMetrics, r.name)
	}
}

// addMetrics adds the last number of goroutines.
func (x *systemText) addMetrics(e *forensics.Evidence) {
	if x.goroutines == 0 {
		return
	}
	if e.Kubelet == nil {
		e.Kubelet = &kubelet.Instance{Flags: map[string]string{}, Sources: []kubelet.Source{}, Endpoints: []kubelet.Endpoint{}}
	}
	if e.Kubelet.Metrics == nil {
		e.Kubelet.Metrics = map[string]float64{goroutineMetric: x.goroutines}
	}
}
