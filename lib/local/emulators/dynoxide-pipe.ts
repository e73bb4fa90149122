/**
 * Sends requests to dynoxide over a pair of pipes. Its HTTP server would accept any caller on its port. The same operations are
 * tools of its MCP interface (JSON-RPC, one message per line), which needs no port.
 */
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import * as z from 'zod';

/** A tool's result: the operation's output as JSON, or its error. */
export interface ToolResult {
  readonly hasError: boolean;
  readonly text: string;
}

export interface DynoxidePipe {
  /** The parameter names of each tool. */
  readonly tools: ReadonlyMap<string, ReadonlySet<string>>;
  call(tool: string, parameters: object): Promise<ToolResult>;
}

const responseShape = z.object({
  id: z.int(),
  result: z.unknown(),
  error: z.looseObject({ message: z.string() }).optional(),
});
const callResultShape = z.looseObject({
  content: z.tuple([z.looseObject({ text: z.string() })]).rest(z.unknown()),
  isError: z.boolean().default(false),
});
const toolListShape = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      inputSchema: z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) }),
    }),
  ),
});

/** The newest version that dynoxide 1.2.1 supports. */
const protocolVersion = '2025-03-26';

/** When the pipe ends, all pending requests are rejected. */
export async function openPipe(input: Writable, output: Readable): Promise<DynoxidePipe> {
  const pendingRequests = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let hasEnded = false;
  const rejectPending = (): void => {
    hasEnded = true;
    for (const { reject } of pendingRequests.values()) reject(new Error('dynoxide has ended'));
    pendingRequests.clear();
  };
  // The process module reports the exit. A write error on a broken pipe adds nothing.
  input.on('error', rejectPending);
  output.on('close', rejectPending);
  output.on('error', rejectPending);

  const onLine = (line: string): void => {
    const { id, result, error } = responseShape.parse(JSON.parse(line));
    const pendingRequest = pendingRequests.get(id);
    pendingRequests.delete(id);
    if (error === undefined) pendingRequest?.resolve(result);
    else pendingRequest?.reject(new Error(`dynoxide: ${error.message}`));
  };
  const decoder = new StringDecoder('utf8');
  let partialLine = '';
  output.on('data', (chunk: Buffer) => {
    const lines = decoder.write(chunk).split('\n');
    lines[0] = partialLine + (lines[0] ?? '');
    partialLine = lines.pop() ?? '';
    for (const line of lines) if (line !== '') onLine(line);
  });

  const send = (message: object): boolean => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const sendRequest = (method: string, params: object): Promise<unknown> => {
    if (hasEnded) return Promise.reject(new Error('dynoxide has ended'));
    const pendingRequest = Promise.withResolvers<unknown>();
    lastId += 1;
    pendingRequests.set(lastId, pendingRequest);
    send({ id: lastId, method, params });
    return pendingRequest.promise;
  };

  await sendRequest('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'stepwell', version: '1' } });
  send({ method: 'notifications/initialized' });
  const { tools } = toolListShape.parse(await sendRequest('tools/list', {}));
  return {
    tools: new Map(tools.map(({ name, inputSchema }) => [name, new Set(Object.keys(inputSchema.properties))])),
    async call(tool, parameters) {
      const { content, isError } = callResultShape.parse(await sendRequest('tools/call', { name: tool, arguments: parameters }));
      return { hasError: isError, text: content[0].text };
    },
  };
}
