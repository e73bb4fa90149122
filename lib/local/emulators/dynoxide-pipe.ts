/**
 * Speaks to dynoxide over a pair of pipes. Its HTTP server answers whoever reaches the port, with any credential; the same
 * operations are the tools of its other interface (MCP: JSON-RPC, one message a line), which needs no port at all.
 */
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import * as z from 'zod';

/** What a tool said: an operation's output as JSON, or why it was refused. */
export interface ToolAnswer {
  readonly isRefused: boolean;
  readonly text: string;
}

export interface DynoxidePipe {
  /** The names of the parameters that each tool takes. */
  readonly tools: ReadonlyMap<string, ReadonlySet<string>>;
  call(tool: string, parameters: object): Promise<ToolAnswer>;
}

const answerShape = z.object({
  id: z.int(),
  result: z.unknown(),
  error: z.looseObject({ message: z.string() }).optional(),
});
const calledShape = z.looseObject({
  content: z.tuple([z.looseObject({ text: z.string() })]).rest(z.unknown()),
  isError: z.boolean().default(false),
});
const listedShape = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      inputSchema: z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) }),
    }),
  ),
});

/** The newest version that dynoxide 1.2.1 speaks. */
const protocolVersion = '2025-03-26';

/** Rejects what waits for an answer when the pipe ends. */
export async function openPipe(input: Writable, output: Readable): Promise<DynoxidePipe> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  let isOver = false;
  const over = (): void => {
    isOver = true;
    for (const { reject } of waiting.values()) reject(new Error('dynoxide has ended'));
    waiting.clear();
  };
  // The emulator's end is heard of by its process; a write into a broken pipe says nothing more.
  input.on('error', over);
  output.on('close', over);
  output.on('error', over);

  const hear = (line: string): void => {
    const { id, result, error } = answerShape.parse(JSON.parse(line));
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(`dynoxide: ${error.message}`));
  };
  const decoder = new StringDecoder('utf8');
  let rest = '';
  output.on('data', (chunk: Buffer) => {
    const lines = decoder.write(chunk).split('\n');
    lines[0] = rest + (lines[0] ?? '');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') hear(line);
  });

  const send = (message: object): boolean => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = (method: string, params: object): Promise<unknown> => {
    if (isOver) return Promise.reject(new Error('dynoxide has ended'));
    const asked = Promise.withResolvers<unknown>();
    last += 1;
    waiting.set(last, asked);
    send({ id: last, method, params });
    return asked.promise;
  };

  await ask('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'stepwell', version: '1' } });
  send({ method: 'notifications/initialized' });
  const { tools } = listedShape.parse(await ask('tools/list', {}));
  return {
    tools: new Map(tools.map(({ name, inputSchema }) => [name, new Set(Object.keys(inputSchema.properties))])),
    async call(tool, parameters) {
      const { content, isError } = calledShape.parse(await ask('tools/call', { name: tool, arguments: parameters }));
      return { isRefused: isError, text: content[0].text };
    },
  };
}
