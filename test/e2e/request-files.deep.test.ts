/** Holds the two traces of docs/ARCHITECTURE.md against the files that run when a start and a node job are handled. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { awsEnvironment } from '../../lib/local/aws-environment.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { root } from './local-start.ts';

const maxFiles = 45;
const workflow = {
  name: 'two-requests',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'price', type: 'javascript', config: { code: 'return 1', outputVariable: 'price' } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'price' },
    { source: 'price', target: 'end' },
  ],
};

const recorded = z.object({ start: z.array(z.string()), node: z.array(z.string()) });
const variablesSchema = z.object({ Variables: z.record(z.string(), z.string()) });
let files: z.infer<typeof recorded>;
let cloud: InProcessCloud;

/** The variables of both functions. The node queue is replaced by the results queue, so that the cloud's own worker gets no job. */
function variables(): Record<string, string> {
  const { template, tables } = cloud.cloud;
  const resultsQueue = template.of('AWS::SQS::Queue').find(({ ref }) => ref.includes('ResultsQueue'))?.ref;
  if (resultsQueue === undefined) throw new Error('the template has no results queue');
  const ofFunctions = template
    .of('AWS::Lambda::Function')
    .filter(({ logicalId }) => /Functions(Api|Worker)Function/.test(logicalId))
    .flatMap(({ properties }) => Object.entries(variablesSchema.parse(properties['Environment']).Variables));
  return {
    ...Object.fromEntries(ofFunctions.map(([name, value]) => [name, value.includes('NodeQueue') ? resultsQueue : value])),
    PATH: process.env['PATH'] ?? '',
    AWS_ENDPOINT_URL: tables.url,
    AWS_REGION: awsEnvironment.region,
    AWS_ACCESS_KEY_ID: tables.accessKeyId,
    AWS_SECRET_ACCESS_KEY: tables.secretAccessKey,
  };
}

beforeAll(async () => {
  cloud = await startInProcessCloud();
  expect(await cloud.call('POST', '/v1/workflows', workflow)).toMatchObject({ status: 201 });
  const plan = { apiKey: cloud.apiKey, workflowName: workflow.name, nodeId: 'price', projectId: 'default', environment: 'local' };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', 'test/e2e/request-files-recorder.ts', JSON.stringify(plan)],
    { cwd: root, env: variables() },
  );
  files = recorded.parse(JSON.parse(/^@files (.*)$/m.exec(stdout)?.[1] ?? '{}'));
});
afterAll(() => cloud.stop());

const page = readFileSync(new URL('../../docs/ARCHITECTURE.md', import.meta.url), 'utf8');

function traceIn(heading: string): { readonly listed: readonly string[]; readonly text: string } {
  const text = page.split(`\n### ${heading}\n`)[1]?.split(/\n##/)[0] ?? '';
  return { listed: [...text.matchAll(/^\| `((?:lib|functions)\/[^`]+)`/gm)].flatMap(([, path]) => path ?? []), text };
}

describe.each([
  ['A start', 'start'],
  ['A node job', 'node'],
] as const)('the trace “%s”', (heading, request) => {
  test(`has at most ${maxFiles} files, each once`, () => {
    const { listed } = traceIn(heading);
    expect(listed.length).toBeGreaterThan(20);
    expect(listed.length).toBeLessThanOrEqual(maxFiles);
    expect(new Set(listed).size).toBe(listed.length);
  });
  test('names only files that run', () => {
    expect(traceIn(heading).listed.filter((path) => !files[request].includes(path))).toEqual([]);
  });
  test('names every file of functions and lib/service that runs', () => {
    const { listed } = traceIn(heading);
    const needed = files[request].filter((path) => /^(functions|lib\/service)\//.test(path));
    expect(needed.filter((path) => !listed.includes(path))).toEqual([]);
  });
  test('says how many files run in all', () => {
    expect(Number(/runs functions of (\d+) files/.exec(traceIn(heading).text)?.[1])).toBe(files[request].length);
  });
});
