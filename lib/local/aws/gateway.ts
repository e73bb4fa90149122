/**
 * The one endpoint of all services (`AWS_ENDPOINT_URL`). It authenticates the caller, checks its permissions and calls the service.
 * Its URL has 127.0.0.1, never localhost: S3 clients put the bucket before a host name, and an address forces the path style.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { MessagePort } from 'node:worker_threads';
import { noOrigins } from '../http/caller-guard.ts';
import { guardedServer } from '../http/guarded-server.ts';
import { requestUrl, listen, readBody, type Listening } from '../http/listen.ts';
import { maxUploadBytes } from '../limits.ts';
import type { CallDelay, Recorder } from '../recorder.ts';
import { createGatewayPorts } from './gateway-ports.ts';
import { hasValidExpiry, isExpired, isPresigned, isSignatureValid, missingSignedHeaders, readCredential } from './signature.ts';
import type { Principals } from './principals.ts';
import { isServiceError, jsonResponse, type Service, type ServiceError, type WireRequest, type WireResponse } from './wire.ts';

interface GatewayParts {
  readonly principals: Principals;
  readonly services: readonly Service[];
  readonly recorder: Recorder;
  /** Prints denials and unknown operations at the terminal: they are errors of the template or of a handler. */
  readonly warn: (line: string) => void;
  readonly callDelay?: CallDelay | undefined;
}

const missingToken: ServiceError = {
  code: 'MissingAuthenticationTokenException',
  message: 'Request is missing Authentication Token',
  status: 403,
};
const badToken: ServiceError = {
  code: 'UnrecognizedClientException',
  message: 'The security token included in the request is invalid.',
  status: 403,
};

const badSignature: ServiceError = {
  code: 'SignatureDoesNotMatch',
  message: 'The request signature we calculated does not match the signature you provided.',
  status: 403,
};

/** Why a presigned URL is refused. Anyone can send one, so the checks are stricter than for a signed header. */
function presignedUrlError(request: WireRequest): ServiceError | undefined {
  if (!hasValidExpiry(request.query)) {
    const message = 'X-Amz-Date and X-Amz-Expires must contain the time of the signature and its lifetime in seconds';
    return { code: 'AuthorizationQueryParametersError', message, status: 400 };
  }
  if (isExpired(request.query, new Date())) return { code: 'AccessDenied', message: 'Request has expired', status: 403 };
  const absentHeaders = missingSignedHeaders(request);
  if (absentHeaders.length === 0) return undefined;
  const message = `The request signature we calculated does not match: ${absentHeaders.join(', ')} was signed and not sent`;
  return { code: 'SignatureDoesNotMatch', message, status: 403 };
}

async function handleRequest(parts: GatewayParts, request: WireRequest): Promise<WireResponse> {
  const credential = readCredential(request);
  if (credential === undefined) return jsonResponse(403, { __type: missingToken.code, message: missingToken.message });
  const service = parts.services.find(({ name }) => name === credential.service);
  if (service === undefined) {
    parts.warn(`a handler called the service ${credential.service}, which the embedded cloud does not implement`);
    return jsonResponse(400, { __type: 'UnknownService', message: `The embedded cloud has no service ${credential.service}` });
  }
  const principal = parts.principals.byKey(credential.accessKeyId);
  if (principal === undefined) return service.toErrorResponse(badToken);
  const presignedError = isPresigned(request.query) ? presignedUrlError(request) : undefined;
  if (presignedError !== undefined) return service.toErrorResponse(presignedError);
  if (!isSignatureValid(request, credential, credential.signature, principal.secretAccessKey))
    return service.toErrorResponse(badSignature);
  const operation = service.parse(request);
  if (isServiceError(operation)) {
    parts.warn(`${principal.name}: ${service.name}: ${operation.message}`);
    return service.toErrorResponse(operation);
  }
  const denialText = parts.principals.findDenial(principal, operation.requiredPermissions);
  if (denialText !== undefined) {
    parts.warn(`AccessDenied: ${denialText}`);
    return service.toErrorResponse({
      code: 'AccessDeniedException',
      message: denialText,
      status: service.name === 's3' ? 403 : 400,
    });
  }
  const startedAt = performance.now();
  const delay = parts.callDelay?.(service.name, operation.name);
  // The delay of the receipt begins when the message is in its queue. The delay of the send must be over by then, so that both count.
  if (service.name === 'sqs') await delay;
  const [response] = await Promise.all([service.handle(request, operation), delay]);
  parts.recorder.record({
    caller: principal.name,
    service: service.name,
    operation: operation.name,
    input: operation.input,
    requestBytes: request.body.length,
    status: response.status,
    response: response.body,
    tookMs: performance.now() - startedAt,
  });
  return response;
}

/** The response of a request, with the headers that every service adds. */
async function answer(parts: GatewayParts, request: WireRequest): Promise<WireResponse> {
  const { status, headers, body } = await handleRequest(parts, request);
  return {
    status,
    headers: {
      'x-amzn-requestid': randomUUID(),
      // Node's own header has the machine's time, and clients of AWS correct their clock by it.
      date: new Date().toUTCString(),
      ...headers,
      ...(request.method === 'HEAD' ? {} : { 'content-length': String(body.length) }),
    },
    body: request.method === 'HEAD' ? Buffer.alloc(0) : body,
  };
}

async function serve(parts: GatewayParts, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await readBody(incoming, maxUploadBytes);
  if (body === 'too large') {
    outgoing.writeHead(413).end();
    return;
  }
  const url = requestUrl(incoming);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  const request: WireRequest = {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    url: incoming.url ?? '/',
    headers,
    body,
  };
  const response = await answer(parts, request);
  outgoing.writeHead(response.status, response.headers);
  outgoing.end(request.method === 'HEAD' ? undefined : response.body);
}

export interface Gateway extends Listening {
  /** for another server whose address also serves AWS requests (the socket server) */
  readonly listener: RequestListener;
  /** A port for the thread of a function. Its requests pass the same checks as those over HTTP. */
  readonly openPort: () => MessagePort;
  mount(parts: GatewayParts): void;
}

/** An unavailable AWS service appears to a client as a broken connection, or as this status. */
const unavailable: WireResponse = { status: 503, headers: {}, body: Buffer.alloc(0) };

/** The server listens before the template is read, because queue URLs contain its port. `parts` are given afterwards. */
export async function openGateway(): Promise<Gateway> {
  let mounted: GatewayParts | undefined;
  const onError = (error: unknown): void =>
    mounted?.warn(`the AWS gateway failed: ${error instanceof Error ? error.message : String(error)}`);
  const listener: RequestListener = (incoming, outgoing) => {
    if (mounted === undefined) {
      outgoing.writeHead(unavailable.status).end();
      return;
    }
    serve(mounted, incoming, outgoing).catch((error: unknown) => {
      onError(error);
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end();
    });
  };
  const ports = createGatewayPorts(
    (request) => (mounted === undefined ? Promise.resolve(unavailable) : answer(mounted, request)),
    onError,
  );
  const listening = await listen(guardedServer(listener, { origins: () => noOrigins }), 0);
  return {
    ...listening,
    listener,
    openPort: () => ports.open(),
    mount: (parts) => void (mounted = parts),
    async close(graceMs) {
      ports.close();
      await listening.close(graceMs);
    },
  };
}
