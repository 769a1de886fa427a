package kubelet

import "testing"

func TestPorts(t *testing.T) {
	for name, tc := range map[string]struct {
		in                      Instance
		main, readOnly, healthz int
		sure                    bool
	}{
		"only flags":              {Instance{}, 10250, 10255, 10248, true},
		"configuration file":      {Instance{Config: &Config{}}, 10250, 0, 10248, true},
		"configured":              {Instance{Config: &Config{Port: 1, ReadOnlyPort: 2, HealthzPort: ptr(3)}}, 1, 2, 3, true},
		"flags win":               {Instance{Flags: map[string]string{"port": "4", "read-only-port": "5", "healthz-port": "6"}, Config: &Config{Port: 1, ReadOnlyPort: 2, HealthzPort: ptr(3)}}, 4, 5, 6, true},
		"switched off":            {Instance{Flags: map[string]string{"read-only-port": "0", "healthz-port": "0"}}, 10250, 0, 0, true},
		"k3s":                     {Instance{Program: "k3s"}, 10250, 0, 10248, true},
		"unreadable":              {Instance{ConfigPath: "/etc/x", Flags: map[string]string{"config": "/etc/x"}}, 10250, 10255, 10248, false},
		"no number, out of range": {Instance{Flags: map[string]string{"port": "http", "healthz-port": "99999", "read-only-port": "-1"}}, 10250, 10255, 10248, true},
		"healthz off in file":     {Instance{Config: &Config{HealthzPort: ptr(0)}}, 10250, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			ports := tc.in.Ports()
			got := [3]int{ports.Main.Number, ports.ReadOnly.Number, ports.Healthz.Number}
			if want := [3]int{tc.main, tc.readOnly, tc.healthz}; got != want || ports.ReadOnly.Sure != tc.sure {
				t.Errorf("ports = %v, sure %t; want %v, %t", got, ports.ReadOnly.Sure, want, tc.sure)
			}
		})
	}
}
