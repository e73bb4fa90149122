/** The text at the terminal after a start: the addresses, and the commands that start a first run. */

export interface Greeting {
  readonly url: string;
  readonly socketUrl: string | undefined;
  readonly apiKey: string;
  readonly directory: string;
  /** how far the clock is ahead of this machine's */
  readonly offsetMs: number;
  /** the folder of the start has the examples: it is a checkout */
  readonly hasExamples: boolean;
}

export const firstWorkflow = 'examples/order-total/workflow.json';

/** The first run of README.md, in a checkout. */
const checkoutCommands = `npx stepwell workflows publish ${firstWorkflow}
RUN=$(npx stepwell runs start order-total --input '{"items": [{"qty": 3, "price": 50}]}')
npx stepwell runs watch "$RUN"
npx stepwell runs get "$RUN"`;

/** The first run of docs/guides/local-development.md, in a project that `stepwell init` made and `stepwell dev` deploys. */
const projectCommands = `npx stepwell runs start greet --input '{"name":"Ada"}'`;

/** The commands that start a first run, one a line. */
export const firstRun = ({ hasExamples }: Pick<Greeting, 'hasExamples'>): string =>
  hasExamples ? checkoutCommands : projectCommands;

const clockLine = (offsetMs: number): string =>
  offsetMs === 0
    ? ''
    : `  Clock    ${new Date().toISOString()}, ${(offsetMs / 3_600_000).toFixed(1)} hours ahead of this machine\n`;

export const greeting = ({ url, socketUrl, apiKey, directory, offsetMs, hasExamples }: Greeting): string => `
Stepwell is running.

  API      ${url}/v1
  Sockets  ${socketUrl ?? 'none'}
  API key  ${apiKey}
  State    ${directory}   (logs of the functions: ${directory}/logs)
${clockLine(offsetMs)}
Start a first run, in a second terminal in the same folder${hasExamples ? '' : ' (npx stepwell init writes the workflow, npx stepwell dev deploys it)'}:

${firstRun({ hasExamples }).replaceAll(/^/gm, '  ')}

Ctrl-C stops it. Runs continue at the next start.
`;
