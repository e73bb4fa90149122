/** Responses that the gateway creates itself, in the API's error format: `{ code, message, correlationId }`. */
import { defined } from '../base/defined.ts';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import type { ErrorCode } from '../api/errors.ts';

interface GatewayResponse {
  readonly type: apigateway.ResponseType;
  readonly code: ErrorCode;
  /** absent: the gateway's own status, which varies */
  readonly status?: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const { ResponseType } = apigateway;

const gatewayResponses: readonly GatewayResponse[] = [
  { type: ResponseType.DEFAULT_4XX, code: 'invalid_request', message: 'The request could not be accepted.' },
  {
    type: ResponseType.DEFAULT_5XX,
    code: 'internal',
    message: 'The request failed. Retry it with the same idempotency key.',
  },
  { type: ResponseType.MISSING_AUTHENTICATION_TOKEN, code: 'not_found', status: 404, message: 'There is no such route.' },
  { type: ResponseType.RESOURCE_NOT_FOUND, code: 'not_found', status: 404, message: 'There is no such route.' },
  { type: ResponseType.REQUEST_TOO_LARGE, code: 'payload_too_large', status: 413, message: 'The body is larger than 6 MB.' },
  // The stage's rate limit is per second.
  {
    type: ResponseType.THROTTLED,
    code: 'rate_limited',
    status: 429,
    message: 'Too many requests.',
    headers: { 'Retry-After': "'1'" },
  },
  {
    type: ResponseType.QUOTA_EXCEEDED,
    code: 'rate_limited',
    status: 429,
    message: 'Too many requests.',
    headers: { 'Retry-After': "'60'" },
  },
  { type: ResponseType.WAF_FILTERED, code: 'request_blocked', status: 403, message: 'The request was blocked.' },
  {
    type: ResponseType.INTEGRATION_TIMEOUT,
    code: 'unavailable',
    status: 504,
    message: 'The response took too long. Retry the request with the same idempotency key.',
  },
  {
    type: ResponseType.INTEGRATION_FAILURE,
    code: 'unavailable',
    status: 503,
    message: 'The service is not available. Retry the request with the same idempotency key.',
  },
];

/**
 * The gateway cannot compare a request's origin with a list: its templates are "not processed by the VTL engine", and a header is a
 * literal or a copy of a request header
 * (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-swagger-extensions-gateway-responses.gatewayResponse.html).
 * So a single origin is named; with several, any page may read these responses. They are the same for all callers and contain no data.
 * A copy of the request's origin would allow every page too, and with credentials also where browsers refuse `*`.
 */
const corsHeaders = (origins: readonly string[]): Readonly<Record<string, string>> => {
  const [firstOrigin, ...otherOrigins] = origins;
  if (firstOrigin === undefined) return {};
  return {
    'Access-Control-Allow-Origin': otherOrigins.length === 0 ? `'${firstOrigin}'` : "'*'",
    'Access-Control-Expose-Headers': "'retry-after,x-amzn-requestid,x-workflow-correlation-id'",
    Vary: "'Origin'",
  };
};

/** @param origins origins of pages that may read the responses */
export function addGatewayResponses(api: apigateway.RestApi, origins: readonly string[]): void {
  for (const { type, code, status, message, headers } of gatewayResponses) {
    api.addGatewayResponse(
      type.responseType,
      defined({
        type,
        statusCode: status === undefined ? undefined : String(status),
        responseHeaders: { 'x-workflow-correlation-id': 'context.requestId', ...headers, ...corsHeaders(origins) },
        templates: { 'application/json': JSON.stringify({ code, message, correlationId: '$context.requestId' }) },
      }),
    );
  }
}
