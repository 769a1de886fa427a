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
}

const goroutineMetric = "go_goroutines"

var (
	kubeletMetrics = pattern.New(`/proxy/metrics|:1025[05]/metrics`)
	// otherMetrics are those of the API server, or of a program that has the same name for the number.
	otherMetrics  = pattern.New(`/metrics\b|\b(?:apiserver|etcd|scheduler|controller-manager|kube-proxy|coredns|prometheus|containerd)\b|\{[^}]*\bjob="`)
	goroutinesNow = pattern.New(`\bgo_goroutines(?:\{[^}]*\})?\s+(?:=>\s*)?(\d[\d.e+]*)(?:\s*@.*)?\s*$`)
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
	if m := goroutinesNow.FindStringSubmatch(text); m != nil {
		number = m[1]
	} else if r.column > 0 && len(cells) >= r.column {
		number = cells[r.column-1]
	}
	row := rowOfKubelet.FindStringSubmatch(strings.Trim(text, "| "))
	if row != nil {
		number = row[1]
	}
	if n, err := strconv.ParseFloat(number, 64); err == nil && r.ours && (row == nil && !strings.Contains(text, goroutineMetric+"{") || n > r.to.goroutines) { // of several kubelets the one that has most
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
