/** A request of the gateway in the few parts that the product looks at, and the answer it gives back. */
import type { Readable } from 'node:stream';
import type { APIGatewayProxyEvent } from 'aws-lambda';

export interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** names in lower case */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** the bytes as text; undefined where there are none */
  readonly body: string | undefined;
  /** the bytes themselves; none where there are none */
  readonly bytes: () => Uint8Array;
  /** from the gateway's own connection, never from a header that a caller may write */
  readonly ip: string | undefined;
  readonly userAgent: string | undefined;
}

export interface HttpResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  /** a stream is passed on as it comes, by a function whose answers the gateway streams */
  readonly body: string | Readable;
}

/** An answer as a route gives it: the router knows bodies of text alone. */
export interface RoutedResponse extends HttpResponse {
  readonly body: string;
  /** in place of the body */
  readonly stream?: Readable;
}

/**
 * The gateway writes this header itself, over whatever a caller sent; so its one value is proof, its absence is none, and a
 * list is not from the gateway.
 */
export const isProvenHttps = ({ headers }: HttpCall): boolean => headers['x-forwarded-proto'] === 'https';

/** The event after the header normalizer and the router have been over it. */
export const callOf = (event: APIGatewayProxyEvent): HttpCall => ({
  method: event.httpMethod,
  path: event.path,
  params: event.pathParameters ?? {},
  query: event.queryStringParameters ?? {},
  headers: event.headers,
  body: bodyOf(event),
  bytes: () => Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
  ip: event.requestContext.identity.sourceIp,
  userAgent: event.headers['user-agent'],
});

const bodyOf = ({ body, isBase64Encoded }: APIGatewayProxyEvent): string | undefined => {
  if (body === null || body === '') return undefined;
  return isBase64Encoded ? Buffer.from(body, 'base64').toString('utf8') : body;
};
