package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"earshot/cmd/earshot/client"
	"earshot/repositories/tracing"
	"earshot/repositories/version"
)

// telemetry exports traces, and metrics on request, over OTLP, configured by the standard OTEL_* variables. A
// slow or missing collector never delays a message: spans wait in a queue of OTEL_BSP_MAX_QUEUE_SIZE (2048),
// and are dropped when it is full.
type telemetry struct {
	traces  *sdktrace.TracerProvider
	metrics *metric.MeterProvider
}

// otelVariables looks up the variables for what is exported. The SDK reads the others from the process
// environment.
type otelVariables func(string) (string, bool)

func (v otelVariables) get(name string) string {
	value, _ := v("OTEL_" + name)
	return strings.TrimSpace(value)
}

// asks reports whether the variables enable a signal, by an exporter or an endpoint.
func (v otelVariables) asks(signal string, endpoints ...string) bool {
	if exporter := v.get(signal + "_EXPORTER"); exporter != "" {
		return exporter != "none"
	}
	return slices.ContainsFunc(endpoints, func(name string) bool { return v.get("EXPORTER_OTLP_"+name) != "" })
}

// exporter returns a signal's OTLP protocol or other exporter.
func (v otelVariables) exporter(signal string) string {
	if name := v.get(signal + "_EXPORTER"); name != "" && name != "otlp" {
		return name
	}
	return cmp.Or(v.get("EXPORTER_OTLP_"+signal+"_PROTOCOL"), v.get("EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
}

// checkEndpoint checks a signal's endpoint: the SDK takes anything, and then sends nothing.
func (v otelVariables) checkEndpoint(signal string) error {
	name := signal + "_ENDPOINT"
	if v.get("EXPORTER_OTLP_"+name) == "" {
		name = "ENDPOINT"
	}
	given := v.get("EXPORTER_OTLP_" + name)
	parsed, err := url.Parse(given)
	if given != "" && (err != nil || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https") {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_%s is %q; it must be a URL with http or https, as in http://collector:4318", name, client.Redacted(given))
	}
	return nil
}

// exporterOf makes the exporter that the variables name, of those that there are.
func exporterOf[E any](v otelVariables, signal string, known map[string]func() (E, error)) (exporter E, err error) {
	name := v.exporter(signal)
	if name == "http/protobuf" {
		if err := v.checkEndpoint(signal); err != nil {
			return exporter, err
		}
	}
	err = errors.New("unknown exporter or protocol")
	if made := known[name]; made != nil {
		exporter, err = made()
	}
	if err != nil {
		err = fmt.Errorf("OTEL_%s_EXPORTER is %q and OTEL_EXPORTER_OTLP_PROTOCOL is %q: %w; exporters are otlp, console and none, protocols http/protobuf and grpc",
			signal, v.get(signal+"_EXPORTER"), v.get("EXPORTER_OTLP_PROTOCOL"), err)
	}
	return exporter, err
}

// openTelemetry exports the enabled traces and metrics. It does nothing without them or with OTEL_SDK_DISABLED.
// Its error names an invalid variable.
func openTelemetry(ctx context.Context, env environment, gather prometheus.Gatherer, log *slog.Logger) (t telemetry, err error) {
	of := otelVariables(env.lookup)
	traces, metrics := of.asks("TRACES", "ENDPOINT", "TRACES_ENDPOINT"), of.asks("METRICS", "METRICS_ENDPOINT")
	if strings.EqualFold(of.get("SDK_DISABLED"), "true") || !traces && !metrics {
		return t, nil
	}
	about, err := resource.New(ctx, // the variables override the program's attributes
		resource.WithAttributes(attribute.String("service.name", tracing.Scope), attribute.String("service.version", version.Current().Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return t, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES (OTEL_SERVICE_NAME): %w", err)
	}
	otel.SetErrorHandler(&unsentLog{log: log, now: env.now})
	otel.SetLogger(logr.FromSlogHandler(variableLog{log.Handler()}))
	if traces {
		exporter, err := exporterOf(of, "TRACES", map[string]func() (sdktrace.SpanExporter, error){
			"http/protobuf": func() (sdktrace.SpanExporter, error) { return otlptracehttp.New(ctx) },
			"grpc":          func() (sdktrace.SpanExporter, error) { return otlptracegrpc.New(ctx) },
			"console":       func() (sdktrace.SpanExporter, error) { return stdouttrace.New() },
		})
		if err != nil {
			return t, err
		}
		t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	}
	if metrics {
		exporter, err := exporterOf(of, "METRICS", map[string]func() (metric.Exporter, error){
			"http/protobuf": func() (metric.Exporter, error) { return otlpmetrichttp.New(ctx) },
			"grpc":          func() (metric.Exporter, error) { return otlpmetricgrpc.New(ctx) },
			"console":       func() (metric.Exporter, error) { return stdoutmetric.New() },
		})
		if err != nil {
			return telemetry{}, errors.Join(err, t.close(ctx))
		}
		shown := bridge.NewMetricProducer(bridge.WithGatherer(gather)) // the metrics of /metrics
		reader := metric.NewPeriodicReader(exporter, metric.WithProducer(shown))
		t.metrics = metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about))
	}
	return t, nil
}

func (t telemetry) tracer() *tracing.Tracer {
	if t.traces == nil {
		return nil
	}
	return tracing.New(t.traces)
}

func (t telemetry) close(ctx context.Context) error {
	var faults []error
	if t.traces != nil {
		faults = append(faults, t.traces.Shutdown(ctx))
	}
	if t.metrics != nil {
		faults = append(faults, t.metrics.Shutdown(ctx))
	}
	return errors.Join(faults...)
}

// unsentLog logs export errors of the SDK, at most once a minute.
type unsentLog struct {
	log  *slog.Logger
	now  func() time.Time
	last atomic.Int64 // in nanoseconds since 1970
}

func (u *unsentLog) Handle(err error) {
	now, last := u.now().UnixNano(), u.last.Load()
	if (last == 0 || now-last >= int64(time.Minute)) && u.last.CompareAndSwap(last, now) {
		u.log.Warn("telemetry.unsent", "error", err.Error())
	}
}

// variableLog logs invalid variables that the SDK reports, without values, which may be credentials.
type variableLog struct{ to slog.Handler }

func (l variableLog) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && l.to.Enabled(ctx, level)
}

func (l variableLog) Handle(ctx context.Context, of slog.Record) error {
	bare := slog.NewRecord(of.Time, slog.LevelWarn, "telemetry.variable", 0)
	bare.AddAttrs(slog.String("fault", "a variable OTEL_* is not as it must be, and is left out: "+of.Message))
	return l.to.Handle(ctx, bare)
}

// WithAttrs implements slog.Handler. It drops attributes, which may contain a credential.
func (l variableLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l variableLog) WithGroup(string) slog.Handler { return l }
