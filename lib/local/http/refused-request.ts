/** The responses to requests that no route receives, in the product's error format. */
import { randomUUID } from 'node:crypto';
import { limits } from './limits.ts';

export interface RefusedRequest {
  readonly status: number;
  /** a code of the product's catalogue */
  readonly code: 'invalid_request' | 'request_blocked';
  readonly message: string;
}

/** API Gateway's own refusals have the template's code for a default 4XX; the status distinguishes them. */
const invalid = (status: number, message: string): RefusedRequest => ({ status, code: 'invalid_request', message });
const blocked = (message: string): RefusedRequest => ({ status: 403, code: 'request_blocked', message });

const maxHead = `${limits.headBytes.toLocaleString('en-US')} bytes`;

export const refusedRequests = {
  host: blocked('The header Host names another host: use the address with localhost or 127.0.0.1.'),
  origin: blocked('Pages of this origin may not call the API: add the origin to STEPWELL_ORIGINS and start again.'),
  uri: invalid(414, `The URL is longer than ${maxHead}: shorten the query, or send long values in a body.`),
  headers: invalid(
    431,
    `The request line and the values of the headers are longer than ${maxHead} together: send fewer or shorter headers.`,
  ),
  malformed: invalid(400, 'The request is not valid HTTP/1.1.'),
  slow: invalid(408, 'The request did not arrive within its time limit: send it again.'),
  expectation: invalid(417, 'The header Expect may only ask for 100-continue.'),
} as const satisfies Record<string, RefusedRequest>;

/** Headers and body of the response. */
export function refusalResponse({ code, message }: RefusedRequest): {
  readonly headers: Record<string, string>;
  readonly body: string;
} {
  const correlationId = randomUUID();
  const body = JSON.stringify({ code, message, correlationId });
  return {
    headers: {
      'content-length': String(Buffer.byteLength(body)),
      'content-type': 'application/json',
      'x-amzn-requestid': correlationId,
      'x-workflow-correlation-id': correlationId,
    },
    body,
  };
}
