package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
)

const maxCertFile = 1 << 20

// errNotPinned says that the server's certificate is not one that the kubelet has on disk.
var errNotPinned = errors.New("the certificate is not the one that the kubelet has on disk")

// pins returns the serving certificates on disk as DER, none if there are no files. A file that is there and cannot be
// read is an error: without it nothing can be said about a certificate.
func (c *Client) pins(ctx context.Context) ([][]byte, error) {
	if c.Instance == nil || c.FS == nil {
		return nil, nil
	}
	d := disk{ctx: ctx, fs: c.FS, group: c.Group, limit: fileTimeout}
	if pid := c.Instance.PID; pid != 0 && c.proven() {
		root := procPath(pid, "root")
		own, err := onDisk(d, root, func() (*hostfs.FS, error) { return ProcessFS(c.FS, pid) })
		if err == nil {
			defer func() { _ = own.Close() }()
			if err := procstat.Same(c.FS, pid, c.Instance.StartTicks); err != nil {
				return nil, err
			}
			d.fs = own
		}
	}
	var pins [][]byte
	var problem error
	for _, name := range c.Instance.ServingCertFiles() {
		data, err := d.ReadFile(name, maxCertFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		leaf := firstCertificate(data)
		if err == nil && leaf == nil {
			err = errors.New(name + ": contains no certificate")
		}
		if err != nil {
			problem = cmp.Or(problem, err)
			continue
		}
		pins = append(pins, leaf)
	}
	if len(pins) == 0 {
		return nil, problem
	}
	return pins, nil
}

// firstCertificate returns the first certificate of a PEM file, the leaf of the chain, as DER.
func firstCertificate(data []byte) []byte {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil
		}
		if block.Type == "CERTIFICATE" {
			return block.Bytes
		}
	}
}

// A verifier decides about a server's certificate during the handshake, before anything of ours is sent.
type verifier struct {
	pins [][]byte
	// explicit is the host of an explicit URL to another machine; "" for an address of this one.
	explicit string
	// trusted asks whether this machine's certificate authorities vouch for a chain.
	trusted func(host string, chain []*x509.Certificate) bool

	verified string
}

// verify is the VerifyConnection of a [tls.Config]. It refuses a certificate only where the kubelet's own is known and
// the connection claims to lead to it.
func (v *verifier) verify(state tls.ConnectionState) error {
	v.verified = "none"
	chain := state.PeerCertificates
	switch {
	case len(chain) == 0:
		return errNotPinned
	case slices.ContainsFunc(v.pins, func(pin []byte) bool { return bytes.Equal(pin, chain[0].Raw) }):
		v.verified = "pinned"
	case v.explicit != "":
		if v.trusted(v.explicit, chain) {
			v.verified = "system"
		}
	case len(v.pins) > 0:
		return errNotPinned
	}
	return nil
}

// systemTrusts verifies a chain against the certificate authorities of this machine, whose files are read for that.
func systemTrusts(host string, chain []*x509.Certificate) bool {
	intermediates := x509.NewCertPool()
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{DNSName: host, Intermediates: intermediates})
	return err == nil
}
