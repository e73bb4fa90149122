/** `stepwell runs export-test`: writes the history of a run and a test that replays it against the current code. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { type Action, CliError, type CommandContext, payloadsHiddenError } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { readRunReference } from '../run-reference.ts';
import type { Run, RunEvent, StepwellClient } from '../../client/index.ts';
import { type HistoryDocument, historyDocument, type ValueSource } from '../../engine/durable/history-document.ts';
import type { JsonValue } from '../../engine/json.ts';

const exportTestOptions = z.object({
  into: z.string().min(1).default('tests'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/)
    .optional(),
  import: z.string().min(1).optional(),
  runner: z.enum(['vitest', 'node']).optional(),
});

/** Maximum page size of the API's event list. */
const pageEvents = 1_000;

export const exportTest: Action = async (commandLine, context) => {
  const {
    into,
    name: requestedName,
    import: from,
    runner = runnerOf(context.cwd),
  } = parseOptions(commandLine, exportTestOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true });
  const history = await readHistory(await context.client(), id, context);
  const { workflowName } = history.run;
  const name = requestedName ?? `${workflowName}-${id.slice(-6).toLowerCase()}`;
  const files = {
    [join(into, `${name}.history.json`)]: `${JSON.stringify(history, null, 2)}\n`,
    [join(into, `${name}.test.ts`)]: createTest(name, history, from ?? `../workflows/${workflowName}.ts`, runner),
  };
  const existing = Object.keys(files).find((path) => existsSync(join(context.cwd, path)));
  if (existing !== undefined) throw new CliError('file_exists', `${existing} exists already: choose another name with --name.`);
  mkdirSync(join(context.cwd, into), { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(context.cwd, path), text, { flag: 'wx' });
  const written = Object.keys(files);
  return { data: { written }, text: written.map((path) => `+ ${path}`).join('\n') };
};

const packageShape = z.object({
  dependencies: z.record(z.string(), z.unknown()).default({}),
  devDependencies: z.record(z.string(), z.unknown()).default({}),
});

/** Vitest if the nearest package asks for it, else the runner of Node, which every project has. */
function runnerOf(cwd: string): 'vitest' | 'node' {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) return asksForVitest(file) ? 'vitest' : 'node';
    if (folder === dirname(folder)) return 'node';
  }
}

function asksForVitest(file: string): boolean {
  try {
    const { dependencies, devDependencies } = packageShape.parse(JSON.parse(readFileSync(file, 'utf8')));
    return 'vitest' in dependencies || 'vitest' in devDependencies;
  } catch {
    // npm reports an invalid package.json better than this command could.
    return false;
  }
}

async function readHistory(
  client: StepwellClient,
  id: string,
  { signal }: Pick<CommandContext, 'signal'>,
): Promise<HistoryDocument> {
  const events: RunEvent[] = [];
  for (let [hasMore, from] = [true, {}]; hasMore;) {
    const page = await client.listRunEvents(id, { ...from, limit: pageEvents }, { signal });
    if (page.payloadsHidden !== undefined) throw payloadsHiddenError(`the history of ${id}`);
    events.push(...page.data);
    [hasMore, from] = [page.hasMore, { after: page.cursor }];
  }
  // Read after the events, so that the run contains every node that they name.
  const run = await client.getRun(id, {}, { signal });
  const { workflowName, version, createdAt, deadlineLimitAt, deadlineAt } = run;
  if (version === undefined)
    throw new CliError('no_history', `${id} is not a run of a code workflow: it has no history to replay.`);
  return historyDocument(
    { id, workflowName, version, createdAt, deadlineAt: deadlineLimitAt ?? deadlineAt },
    events,
    (location) => readValue(run, location),
  );
}

/** Events contain references to large values. The run's response contains the values, if they are not too large for it. */
function readValue(run: Run, location: ValueSource): JsonValue {
  const node = typeof location === 'object' ? run.nodes.find(({ nodeId }) => nodeId === location.nodeId) : undefined;
  const value = location === 'input' ? run.input : location === 'output' ? run.output : node?.output;
  if (value !== undefined) return value;
  const valueName =
    typeof location === 'object' ? `the output of ${node?.label ?? location.nodeId}` : `the ${location} of the run`;
  throw new CliError(
    'value_omitted',
    `The API omits ${valueName} because it is too large. The history of ${run.runId} cannot be exported.`,
  );
}

function createTest(
  name: string,
  { run: { id, workflowName }, end }: HistoryDocument,
  from: string,
  runner: 'vitest' | 'node',
): string {
  const expectedStatus = end.status === 'completed' || end.status === 'failed' ? end.status : 'waiting';
  const imports = {
    vitest: `import { expect, test } from 'vitest';\n`,
    node: `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n`,
  };
  const assertion = {
    vitest: `  expect((await replay(workflows, history)).status).toBe('${expectedStatus}');`,
    node: `  assert.equal((await replay(workflows, history)).status, '${expectedStatus}');`,
  };
  return `/** Replays the history of ${id}, a run of ${workflowName}, against the current code. */
${imports[runner]}import { replay } from 'stepwell/testing';
import * as workflows from ${JSON.stringify(from)};
import history from ${JSON.stringify(`./${name}.history.json`)} with { type: 'json' };

test('${workflowName} replays ${id}', async () => {
${assertion[runner]}
});
`;
}
