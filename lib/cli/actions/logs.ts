/** `stepwell logs`: what the scripts and steps of a run printed, and what the functions logged for it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { defined } from '../../base/defined.ts';
import { type CallOptions, type RunEvent, type StepwellClient, isDelta } from '../../client/index.ts';
import type { Action, CommandContext } from '../command.ts';
import { readLocalInstallation } from '../connection.ts';
import { localDirectory } from '../project-folder.ts';
import { quantity } from '../format.ts';
import { parseOptions } from '../parse-command-line.ts';
import { readRunReference } from '../run-reference.ts';

const logsOptions = z.object({ follow: z.boolean().default(false), functions: z.boolean().default(false) });

export const printLogs: Action = async (commandLine, context) => {
  const { follow, functions } = parseOptions(commandLine, logsOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true });
  const client = await context.client();
  let lines = 0;
  for await (const printed of printedLines(eventsOf(client, id, follow, { signal: context.signal }))) {
    lines += 1;
    context.printJsonLine(printed);
    const { timestamp, nodeId, iteration, step, attempt, line } = printed;
    const where = `${step ?? nodeId}${iteration === undefined ? '' : `@${iteration}`}${attempt > 1 ? `#${attempt}` : ''}`;
    context.print(`${context.colorize('dim', timestamp)}  ${context.colorize('bold', where)}  ${line}`);
  }
  const logged = functions ? await printFunctionLogs(context, id) : 0;
  if (lines + logged === 0) context.log('Nothing was printed. The lines of an attempt appear when it ends.');
  return { data: { runId: id, lines, functionLines: logged }, text: '' };
};

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

/** The embedded cloud has the logs as files; an AWS account has them in CloudWatch. @returns the number of lines */
async function printFunctionLogs(context: CommandContext, id: string): Promise<number> {
  const { url } = await context.connection();
  if (readLocalInstallation(context)?.url !== url) {
    context.log(
      `The functions log to CloudWatch. In Logs Insights, select the log groups of the installation and query:\n` +
        `fields @timestamp, @log, @message | filter @message like "${id}" | sort @timestamp asc`,
    );
    return 0;
  }
  const directory = join(localDirectory(context), 'logs');
  const lines = globSync('*.{log,log.1}', { cwd: directory }).flatMap((file) =>
    readFileSync(join(directory, file), 'utf8')
      .split('\n')
      .filter((line) => line.includes(id))
      .map((line) => ({ function: file.replace(/\.log(\.1)?$/, ''), line, timestamp: timestampOf(line) })),
  );
  const sorted = lines.toSorted((one, other) => (one.timestamp < other.timestamp ? -1 : one.timestamp > other.timestamp ? 1 : 0));
  context.log(`${quantity(sorted.length, 'line')} of the functions`);
  for (const each of sorted) {
    context.printJsonLine(each);
    context.print(`${context.colorize('bold', each.function)}  ${each.line}`);
  }
  return sorted.length;
}

const loggedLine = z.object({ timestamp: z.string() });

/** Empty for a line without a time: it comes first. */
function timestampOf(line: string): string {
  try {
    return loggedLine.parse(JSON.parse(line)).timestamp;
  } catch {
    return '';
  }
}
