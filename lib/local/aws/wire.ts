/** What travels between the handlers' SDK clients and the services behind the gateway. */
import type { RequiredPermission } from '../policy/evaluate.ts';

export interface WireRequest {
  readonly method: string;
  /** without the query */
  readonly path: string;
  readonly query: URLSearchParams;
  /** as it came, for those who pass it on: path and query */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What a request asks, once its service has read it. */
export interface Operation {
  /** `PutItem` */
  readonly name: string;
  /** the parsed body where the service speaks JSON; undefined where it does not */
  readonly input: unknown;
  readonly requiredPermissions: readonly RequiredPermission[];
}

/** A service's own error, in its own words; `code` is what the SDK makes the error's name of. */
export interface ServiceError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

export interface Service {
  /** as the credential scope of a signature spells it: `dynamodb`, `sqs`, `s3` … */
  readonly name: string;
  /** What is asked, or how it is refused; nothing has happened yet. */
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
  message: `The embedded cloud does not know the operation ${name}`,
  status: 400,
});

/** The operation's name in `X-Amz-Target: DynamoDB_20120810.PutItem`. */
export const targetOperation = (request: WireRequest): string => request.headers['x-amz-target']?.split('.').at(-1) ?? '';

/** The body as JSON; undefined where it is none. */
export function jsonBody(request: WireRequest): unknown {
  try {
    return JSON.parse(request.body.toString('utf8'));
  } catch {
    return undefined;
  }
}
