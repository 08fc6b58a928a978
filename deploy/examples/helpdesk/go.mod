module helpdesk

go 1.26.8

require (
	earshot/deploy/clients/go v0.0.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
)

replace earshot/deploy/clients/go => ../../clients/go
