/** The text at the terminal after a start: the addresses, and a command that starts a first run. */

export interface Greeting {
  readonly url: string;
  readonly socketUrl: string | undefined;
  readonly apiKey: string;
  readonly directory: string;
  /** how far the clock is ahead of this machine's */
  readonly offsetMs: number;
}

const workflow = {
  name: 'hello',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'greet',
      type: 'javascript',
      config: { code: 'return `Hello, ${ctx.input.name}!`', outputVariable: 'greeting' },
    },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'greeting', sourceVariable: '{{ctx.greeting}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'greet' },
    { source: 'greet', target: 'end' },
  ],
};

/** Quotes for a POSIX shell. Inside single quotes the shell interprets nothing; a quote itself is written `'\''`. */
const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const post = (url: string, apiKey: string, body: unknown, ...headers: readonly string[]): string =>
  [
    `curl -s ${url}`,
    ...[`authorization: Bearer ${apiKey}`, 'content-type: application/json', ...headers].map(
      (header) => `-H ${shellQuote(header)}`,
    ),
    `-d ${shellQuote(JSON.stringify(body))}`,
  ].join(' ');

/** Two requests in one command: the first defines a workflow, the second starts it. */
export const firstRun = ({ url, apiKey }: Pick<Greeting, 'url' | 'apiKey'>): string =>
  [
    post(`${url}/v1/workflows`, apiKey, workflow),
    post(`${url}/v1/runs`, apiKey, { workflowName: workflow.name, input: { name: 'world' } }, 'idempotency-key: first'),
  ].join(' && ');

const clockLine = (offsetMs: number): string =>
  offsetMs === 0
    ? ''
    : `  Clock    ${new Date().toISOString()}, ${(offsetMs / 3_600_000).toFixed(1)} hours ahead of this machine\n`;

export const greeting = ({ url, socketUrl, apiKey, directory, offsetMs }: Greeting): string => `
Stepwell is running.

  API      ${url}/v1
  Sockets  ${socketUrl ?? 'none'}
  API key  ${apiKey}
  State    ${directory}   (logs of the functions: ${directory}/logs)
${clockLine(offsetMs)}
Start a first run:

  ${firstRun({ url, apiKey })}

Ctrl-C stops it. Runs continue at the next start.
`;
