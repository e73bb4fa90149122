/** Serves the page of the console and its assets. It reads no data: the page calls the API with the session of its user. */
import { Readable } from 'node:stream';
import middy from '@middy/core';
import { executionModeStreamifyResponse } from '@middy/core/executionModeStreamifyResponse';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { readConsoleFiles } from './page.ts';
import { respondWithConsole } from './respond.ts';

// The build places the files beside the bundle.
const files = readConsoleFiles(import.meta.dirname);

/** Streamed, because the gateway would decode and encode the compressed bytes of a buffered response. */
export const handler = middy<APIGatewayProxyEvent>({ executionMode: executionModeStreamifyResponse }).handler(async (event) => {
  const { body, ...response } = respondWithConsole(files, event);
  return { ...response, body: body.length === 0 ? '' : Readable.from([body]) };
});
