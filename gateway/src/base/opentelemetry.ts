// The tracer of OpenTelemetry. Its packages are loaded here alone, and only if the environment asks for traces.
import type { Attributes as OtelAttributes, Span as OtelSpan } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config/config.ts';
import { howToInstall, missingOf } from './installed.ts';
import type { Attributes, Span, Tracer } from './tracing.ts';
import { version } from './version.ts';

const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
];
const EXPORT_WITHIN_MS = 5_000;
// A stop ends the process after eight seconds.
const CLOSE_WITHIN_MS = 2_000;

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/**
 * Null if nothing asks for traces. Where OTEL_TRACES_EXPORTER does, a package that is missing ends the start; an endpoint may be meant
 * for other programs of the same environment, so that then a warning is enough.
 */
export async function openTracer(
  tracing: Config['tracing'],
  logger: Logger,
  packages: readonly string[] = PACKAGES,
): Promise<Tracer | null> {
  if (!tracing) return null;
  const missing = missingOf(packages);
  if (missing.length > 0) {
    const problem = `${tracing.variable}: traces need ${missing.join(', ')}, not installed: ${howToInstall(missing)}`;
    if (tracing.isRequired) throw new ConfigError(problem);
    logger.warn(`${problem}; there are no traces now`);
    return null;
  }
  return createTracer(tracing, logger);
}

async function createTracer({ url, ratio }: NonNullable<Config['tracing']>, logger: Logger): Promise<Tracer> {
  const [api, { OTLPTraceExporter }, resources, sdk] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace'),
  ]);
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_WITHIN_MS });
  let isSilent = false;
  const send = exporter.export.bind(exporter);
  // Of several exports that fail one after the other, the log gets the first.
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.code !== 0 && !isSilent) logger.warn({ spans: spans.length }, 'spans could not be exported');
      isSilent = result.code !== 0;
      done(result);
    });
  const fromEnvironment = resources.detectResources({
    detectors: [resources.resourceAttributesEnvDetector, resources.serviceNameEnvDetector],
  });
  const provider = new sdk.TracerProvider({
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
    resource: resources
      .resourceFromAttributes({ 'service.name': 'l9-memory', 'service.version': version })
      .merge(fromEnvironment),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_WITHIN_MS })],
  });
  const tracer = provider.getTracer('l9-memory', version);
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL };
  const originals = new WeakMap<Span, OtelSpan>();

  const contextOf = (parent: Span | string | null) => {
    const above = typeof parent === 'string' ? remote(parent) : parent && originals.get(parent)?.spanContext();
    return above ? api.trace.setSpanContext(api.ROOT_CONTEXT, above) : api.ROOT_CONTEXT;
  };
  const remote = (traceparent: string) => {
    const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? [];
    const above = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
    return api.isSpanContextValid(above) ? above : null;
  };

  return {
    start({ name, kind, attributes = {} }, parent) {
      const original = tracer.startSpan(name, { kind: kinds[kind], attributes: given(attributes) }, contextOf(parent));
      const span: Span = {
        traceId: original.spanContext().traceId,
        set: (more) => void original.setAttributes(given(more)),
        fail: (code) =>
          void original.setAttribute('error.type', code).setStatus({ code: api.SpanStatusCode.ERROR, message: code }),
        end: () => original.end(),
      };
      originals.set(span, original);
      return span;
    },
    async close() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref());
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
}

const given = (attributes: Attributes): OtelAttributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
