/** Runs whose values are encrypted with a key of their own: no plain text is stored, and the code of each supported version replays them. */
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { Tables } from '../e2e/kills/tables.ts';
import { type ArtifactApp, buildArtifactApp } from './artifact-app.ts';

const secretArn = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:runs-AbCdEf';

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud({ 'stepwell:devKitSecretArn': secretArn });
  served.cloud.secrets.write(secretArn, { text: 'k'.repeat(40), version: 'v', createdAt: 0 });
});
afterAll(() => served.stop());

const started = z.object({ runId: z.string() });
const ended = z.object({ value: z.object({ receipt: z.string(), by: z.string() }), line: z.string() });

describe.each(['4.8.9', '5.0.0-beta.35', '5.0.0-beta.55'])('an app of workflow %s', (sdkVersion) => {
  let app: ArtifactApp;
  beforeAll(async () => {
    app = await buildArtifactApp(sdkVersion);
    await cli(served, app.folder, 'deploy', '--json');
  }, 240_000);

  test('completes a run, of which no plain value is stored, and the command line says so', async () => {
    const item = `plaintext-${sdkVersion.replaceAll('.', '-')}`;
    const env = { STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey };
    const lines = (await app.run('node', ['client.mjs', 'complete', item], env)).trim().split('\n');
    const { runId } = started.parse(JSON.parse(lines[0] ?? ''));
    const { value, line } = ended.parse(JSON.parse(lines[1] ?? ''));
    expect([value.by, line]).toEqual(['ada', `charged ${value.receipt}`]);

    const stored = await storedOf(runId);
    // The token of the hook is the app's own text, and not a value.
    const values = stored.replaceAll(`approve:${item}`, '').replaceAll(Buffer.from(`approve:${item}`).toString('base64'), '');
    expect(values.length).toBeGreaterThan(1_000);
    expect(plainTextsIn(values, [item, value.receipt, 'charged'])).toEqual([]);

    const shown = await cli(served, app.folder, 'runs', 'get', runId);
    expect(shown).toMatch(/input +encrypted with the key of the run: only its app can read this value/);
    expect(shown).not.toContain(item);

    // The platform serializes these arguments itself, and does not encrypt them.
    const greeted = (await cli(served, app.folder, 'runs', 'start', 'workflows/order//greet', '--input', `["${item}"]`)).trim();
    expect(await cli(served, app.folder, 'runs', 'result', greeted)).toContain('encrypted with the key of the run');
    expect(await cli(served, app.folder, 'runs', 'get', greeted)).toMatch(new RegExp(`input +\\["${item}"\\]`));
  }, 120_000);
});

/** The texts that occur in any of the forms in which a store has them. */
const plainTextsIn = (stored: string, texts: readonly string[]): readonly string[] => {
  const decoded = [...stored.matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)].map(([base64]) =>
    Buffer.from(base64, 'base64').toString('latin1'),
  );
  return texts.filter((text) => [stored, ...decoded].some((each) => each.includes(text)));
};

const binary = z.object({ B: z.string() }).transform(({ B }) => Buffer.from(B, 'base64'));

/** All attributes of the items that name the run, without compression. */
async function storedOf(runId: string): Promise<string> {
  const items = await new Tables(served.cloud.tables).scan({ ConsistentRead: true });
  const ofRun = items.filter((item) => JSON.stringify(item).includes(runId));
  const textOf = (attribute: unknown): string => {
    const bytes = binary.safeParse(attribute).data;
    if (bytes === undefined) return JSON.stringify(attribute);
    return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('latin1');
  };
  return ofRun.flatMap((item) => Object.values(item).map(textOf)).join('\n');
}
