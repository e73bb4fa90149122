/** `stepwell logs`: what the scripts and steps of a run printed, and what the functions logged for it. */
import { join } from 'node:path';
import * as z from 'zod';
import { defined } from '../../base/defined.ts';
import { type CallOptions, type RunEvent, type StepwellClient, isDelta } from '../../client/index.ts';
import type { Action, CommandContext } from '../command.ts';
import { readLocalInstallation } from '../connection.ts';
import { localDirectory } from '../project-folder.ts';
import { parseOptions } from '../parse-command-line.ts';
import { readRunReference } from '../run-reference.ts';
import { type FunctionLine, FunctionLogs, compareTexts } from './function-logs.ts';

const logsOptions = z.object({ follow: z.boolean().default(false), functions: z.boolean().default(false) });

export const printLogs: Action = async (commandLine, context) => {
  const { follow, functions } = parseOptions(commandLine, logsOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true });
  const client = await context.client();
  const logs = await functionLogsOf(context, id);
  if (functions && logs === undefined) context.log(cloudWatchHint(id));
  const printed = printedLines(eventsOf(client, id, follow, { signal: context.signal }));
  const printer = new LinePrinter(context, functions);
  if (follow) await followLogs(context, printed, logs, printer);
  else await printAll(printed, logs, printer);
  const { lines, functionLines } = printer;
  if (lines + functionLines === 0) context.log('Nothing was printed. The lines of an attempt appear when it ends.');
  return { data: { runId: id, lines, functionLines }, text: '' };
};

class LinePrinter {
  lines = 0;
  functionLines = 0;
  readonly #context: CommandContext;
  readonly #showsFunctions: boolean;

  constructor(context: CommandContext, showsFunctions: boolean) {
    this.#context = context;
    this.#showsFunctions = showsFunctions;
  }

  /** A line of a script or a step. */
  print(printed: PrintedLine): void {
    const { timestamp, nodeId, iteration, step, attempt, line } = printed;
    const where = `${step ?? nodeId}${iteration === undefined ? '' : `@${iteration}`}${attempt > 1 ? `#${attempt}` : ''}`;
    this.lines += 1;
    this.#print(printed, timestamp, where, line);
  }

  /** A line of a function: what code printed between its steps is always shown. */
  printFunctionLine({ printed, ...logged }: FunctionLine): void {
    const { timestamp, line } = logged;
    if (printed !== undefined) {
      this.lines += 1;
      this.#print({ timestamp, stream: printed.stream, line: printed.text }, timestamp, betweenSteps, printed.text);
    } else if (this.#showsFunctions) {
      this.functionLines += 1;
      this.#print(logged, '', logged.function, line);
    }
  }

  #print(value: object, timestamp: string, where: string, line: string): void {
    const { colorize, print, printJsonLine } = this.#context;
    printJsonLine(value);
    print(`${timestamp === '' ? '' : `${colorize('dim', timestamp)}  `}${colorize('bold', where)}  ${line}`);
  }
}

/** Stands where the name of a step would be. */
const betweenSteps = '(workflow)';

async function printAll(
  printed: AsyncIterable<PrintedLine>,
  logs: FunctionLogs | undefined,
  printer: LinePrinter,
): Promise<void> {
  const lines: { readonly timestamp: string; readonly print: () => void }[] = [];
  for await (const line of printed) lines.push({ timestamp: line.timestamp, print: () => printer.print(line) });
  for (const line of logs?.take() ?? []) lines.push({ timestamp: line.timestamp, print: () => printer.printFunctionLine(line) });
  for (const { print } of lines.toSorted((one, other) => compareTexts(one.timestamp, other.timestamp))) print();
}

const tailIntervalMs = 500;

/** Prints lines as they appear, until the run has ended. */
async function followLogs(
  context: CommandContext,
  printed: AsyncIterable<PrintedLine>,
  logs: FunctionLogs | undefined,
  printer: LinePrinter,
): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const takeLines = (): void => logs?.take().forEach((line) => printer.printFunctionLine(line));
  const tail = async (): Promise<void> => {
    while (logs !== undefined && !signal.aborted) {
      takeLines();
      await context.sleep(tailIntervalMs, signal);
    }
  };
  const tailing = tail();
  try {
    for await (const line of printed) printer.print(line);
  } finally {
    ended.abort();
    await tailing;
  }
  // A function writes its last lines after the commit that ended the run.
  if (logs !== undefined) await context.sleep(tailIntervalMs, context.signal);
  takeLines();
}

interface PrintedLine {
  /** the end of the attempt */
  readonly timestamp: string;
  readonly nodeId: string;
  readonly iteration?: string;
  /** the name of the step, in a code run */
  readonly step?: string;
  readonly attempt: number;
  readonly line: string;
}

async function* eventsOf(
  client: StepwellClient,
  id: string,
  follow: boolean,
  options: CallOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  if (follow) {
    for await (const update of client.watchRun(id, {}, options)) if (!isDelta(update)) yield update;
    return;
  }
  for (let from: { after?: string } = {}; ;) {
    const page = await client.listRunEvents(id, { ...from, limit: 1_000 }, options);
    yield* page.data;
    if (!page.hasMore) return;
    from = { after: page.cursor };
  }
}

const attemptEvent = z.object({
  nodeId: z.string(),
  iteration: z.string().optional(),
  attempt: z.int(),
  step: z.object({ key: z.string() }).optional(),
  printed: z.array(z.string()).default([]),
});

async function* printedLines(events: AsyncIterable<RunEvent>): AsyncGenerator<PrintedLine, void, undefined> {
  /** the dispatch alone contains the name of the step */
  const steps = new Map<string, string>();
  for await (const { timestamp, payload } of events) {
    const { data } = attemptEvent.safeParse(payload);
    if (data === undefined) continue;
    const { nodeId, iteration, attempt, step, printed } = data;
    if (step !== undefined) steps.set(nodeId, step.key);
    for (const line of printed) yield defined({ timestamp, nodeId, iteration, step: steps.get(nodeId), attempt, line });
  }
}

/** The embedded cloud has the logs as files. @returns undefined for an installation in AWS */
async function functionLogsOf(context: CommandContext, id: string): Promise<FunctionLogs | undefined> {
  const { url } = await context.connection();
  return readLocalInstallation(context)?.url === url ? new FunctionLogs(join(localDirectory(context), 'logs'), id) : undefined;
}

/** The command line has an address and an API key: neither names the log groups or gives access to them. */
const cloudWatchHint = (
  id: string,
): string => `The functions of this installation log to CloudWatch. The API key gives no access to CloudWatch, so use the credentials of the AWS account.
In Logs Insights, select the log groups of the installation and query:
fields @timestamp, @log, @message | filter @message like "${id}" | sort @timestamp asc
To follow them, Live Tail in the console, or: aws logs start-live-tail --log-group-identifiers <arn> … --log-event-filter-pattern '"${id}"'`;
