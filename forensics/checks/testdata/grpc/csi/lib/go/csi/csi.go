// Package csi is a client as protoc writes it.
package csi

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

type nodeClient struct{ cc grpc.ClientConnInterface }

// NewNodeClient makes one.
func NewNodeClient(cc grpc.ClientConnInterface) *nodeClient { return &nodeClient{cc} }

func (c *nodeClient) NodePublishVolume(ctx context.Context, in *emptypb.Empty, opts ...grpc.CallOption) (*emptypb.Empty, error) {
	out := new(emptypb.Empty)
	if err := c.cc.Invoke(ctx, "/csi.v1.Node/NodePublishVolume", in, out, opts...); err != nil {
		return nil, err
	}
	return out, nil
}
