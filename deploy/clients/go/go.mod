module earshot/deploy/clients/go

go 1.24
