/** The requests of the handlers' SDK clients and the responses of the services behind the gateway. */
import type { RequiredPermission } from '../policy/evaluate.ts';

export interface WireRequest {
  readonly method: string;
  /** without the query */
  readonly path: string;
  readonly query: URLSearchParams;
  /** path and query, unchanged, for requests that are forwarded */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The operation of a request, parsed by its service. */
export interface Operation {
  /** `PutItem` */
  readonly name: string;
  /** the parsed body where the service uses JSON; otherwise undefined */
  readonly input: unknown;
  readonly requiredPermissions: readonly RequiredPermission[];
}

/** An error of a service; the SDK derives the error's name from `code`. */
export interface ServiceError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

export interface Service {
  /** as in the credential scope of a signature: `dynamodb`, `sqs`, `s3` … */
  readonly name: string;
  /** Parses the operation or refuses the request; has no effects. */
  parse(request: WireRequest): Operation | ServiceError;
  handle(request: WireRequest, operation: Operation): Promise<WireResponse>;
  /** An error in the service's own format. */
  toErrorResponse(error: ServiceError): WireResponse;
}

export const isServiceError = (value: Operation | ServiceError): value is ServiceError => 'code' in value;

export const jsonResponse = (status: number, value: unknown, type = 'application/x-amz-json-1.0'): WireResponse => ({
  status,
  headers: { 'content-type': type },
  body: Buffer.from(JSON.stringify(value)),
});

/** The error format of AWS's JSON protocols; DynamoDB and SQS name errors with their own prefix. */
export const jsonErrorResponse = (prefix: string, error: ServiceError, type?: string): WireResponse =>
  jsonResponse(error.status, { __type: `${prefix}${error.code}`, message: error.message, Message: error.message }, type);

export const unknownOperation = (name: string): ServiceError => ({
  code: 'UnknownOperationException',
  message: `The embedded cloud does not implement the operation ${name}`,
  status: 400,
});

/** The operation's name in `X-Amz-Target: DynamoDB_20120810.PutItem`. */
export const targetOperation = (request: WireRequest): string => request.headers['x-amz-target']?.split('.').at(-1) ?? '';

/** The body of each request as JSON: a service reads it for permissions, and the emulator for the operation. */
const parsedBodies = new WeakMap<WireRequest, { readonly value: unknown }>();

/** The body as JSON; undefined where it is not JSON. Callers share the value and must not change it. */
export function jsonBody(request: WireRequest): unknown {
  const known = parsedBodies.get(request);
  if (known !== undefined) return known.value;
  const parsed = { value: parse(request.body.toString('utf8')) };
  parsedBodies.set(request, parsed);
  return parsed.value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
