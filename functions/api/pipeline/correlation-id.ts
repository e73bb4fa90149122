/** One id follows a request through its answer, the logs and the audit trail. */
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { HttpAnswer } from './http-call.ts';

const correlationHeader = 'x-workflow-correlation-id';
/** Letters that are safe in a header, a log line and a search; 128 as in the conventions for request ids. */
const fit = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's own id where it is fit to be repeated; any other is replaced, never echoed. */
export const correlationId = (newId: () => string): MiddlewareObj<APIGatewayProxyEvent, HttpAnswer> => {
  const mark = (request: { event: APIGatewayProxyEvent; response: HttpAnswer | null | undefined }): void => {
    const { response } = request;
    if (response === undefined || response === null) return;
    const headers = { ...response.headers, [correlationHeader]: correlationIdOf(request.event) };
    request.response = { ...response, headers };
  };
  return {
    before: ({ event }) => {
      // The gateway sends null where there are none.
      event.headers ??= {};
      const given = event.headers[correlationHeader];
      event.headers[correlationHeader] = given !== undefined && fit.test(given) ? given : newId();
    },
    after: mark,
    onError: mark,
  };
};

/** The id of a request that the middleware has seen. */
export const correlationIdOf = (event: Pick<APIGatewayProxyEvent, 'headers'>): string => event.headers[correlationHeader] ?? '';
