/** The commands of docs/API.md and docs/LENSES.md work as written, with the documented output. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Block, blocksIn, readerShell, settingsIn } from './documents.ts';
import { freshFolder, preparedFolder, root, startLocal, type LocalStart } from './local-start.ts';

const isSetting = (block: Block): boolean => settingsIn(block.lines).join('\n') === block.lines.trim();

const packageShape = z.object({ scripts: z.object({ pack: z.string() }) });

/** A reader's folder: the examples, the state and the packing script. */
const folder = freshFolder();
const state = join(folder, '.stepwell');
let local: LocalStart;
beforeAll(async () => {
  preparedFolder(state);
  symlinkSync(join(root, 'examples'), join(folder, 'examples'));
  const { scripts } = packageShape.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const pack = scripts.pack.replaceAll(/(?<= )(bin|scripts)\//g, `${join(root, '/')}$1/`);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { pack } }));
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  symlinkSync(join(root, 'bin/stepwell-cli.mjs'), join(folder, 'node_modules/.bin/stepwell'));
  local = await startLocal(state);
});
afterAll(() => local.end('SIGKILL'));

/** Run ids, times, other ids and the numbers of events and commits, which depend on how events are batched, may differ; everything else must match. */
const withoutChance = (json: string): unknown => JSON.parse(settled(JSON.stringify(JSON.parse(json))));
const settled = (text: string): string =>
  text
    .replaceAll(/wrun_[0-9A-Z]{26}/g, 'wrun_')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'time')
    .replaceAll(/"lastEventId": ?\d+/g, '"lastEventId":0')
    .replaceAll(/"secret": ?"[^"]+"/g, '"secret":""')
    .replaceAll(/"cursor": ?"\d{13}\.wrun_"/g, '"cursor":"cursor"')
    .replaceAll(/"key": ?"sw_[^"]+"/g, '"key":"sw_"')
    .replaceAll(/"(keyId|replacedBy)": ?"[^"]+"/g, '"$1":""')
    .replaceAll(/"resource": ?"key\/[^"]+"/g, '"resource":"key/"')
    .replaceAll(/"id": ?"[\w-]{16}"/g, '"id":""')
    .replaceAll(/"userAgent": ?"curl[^"]+"/g, '"userAgent":"curl"')
    .replaceAll(/"cursor": ?"[\w-]{20,}"/g, '"cursor":"cursor"')
    .replaceAll(/"correlationId": ?"[^"]+"/g, '"correlationId":""')
    .replaceAll(/"traceId": ?"[^"]+"/g, '"traceId":""')
    .replaceAll(/"messageId": ?"msg_[ws][^"]+"/g, '"messageId":"msg_"')
    .replaceAll(/msg_w[0-9A-Z]{26}/g, 'msg_')
    // A payload of the first minutes of a day has another lifetime.
    .replaceAll(/stepwell-days=\d/g, 'stepwell-days=')
    .replaceAll(/"durationMs": ?\d+/g, '"durationMs":0')
    .replaceAll(/"commits": ?\d+/g, '"commits":0')
    .replaceAll(/"(createdBy|updatedBy)": ?"[^"]+"/g, '"$1":""')
    .replaceAll(/"ticket": ?"st_[^"]+"/g, '"ticket":"st_"')
    .replaceAll(/"link": ?"sl_[\w-]{43}"/g, '"link":"sl_"')
    .replaceAll(/"id": ?"ses_[\w-]{22}"/g, '"id":"ses_"')
    .replaceAll(/"subject": ?"key:[^"]+"/g, '"subject":"key:"')
    .replaceAll(/"url": ?"http[^"]+"/g, '"url":""')
    .replaceAll(/"embedId": ?"[^"]+"/g, '"embedId":""')
    .replaceAll(/"path": ?"embed\/[^"]+"/g, '"path":"embed/"')
    // The times of a row of a timeline, in ms, and the event that ended it.
    .replaceAll(
      /\[(\d+),(null|"[^"]*"),(\d+),(?:null|\d+),(?:null|\d+),(?:null|\d+),("\w+"),(null|"\w+"),\d+\]/g,
      '[$1,$2,$3,$4,$5]',
    );

/** The embedded cloud has no identity provider; test/functions/provider-sign-in.test.ts runs these routes with one. */
const needsProvider: readonly string[] = ['GET /v1/sessions/provider', 'POST /v1/sessions/provider'];

/** The runs of the registered application never end, because nothing is at its address. */
const allEnded = () =>
  expect
    .poll(
      async () => {
        const { body } = await local.call('GET', '/v1/runs');
        return z
          .looseObject({ data: z.array(z.looseObject({ status: z.string(), deploymentId: z.string().nullable() })) })
          .parse(body)
          .data.filter(({ status, deploymentId }) => /pending|running/.test(status) && !deploymentId?.startsWith('dpl_app_'))
          .length;
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBe(0);

describe('docs/API.md', () => {
  const blocks = blocksIn('docs/API.md');
  const shell = readerShell(folder);

  test('has a block for each route', () => {
    expect(blocks.filter((block) => !isSetting(block)).length).toBeGreaterThanOrEqual(13);
  });

  const runnable = blocks.filter(({ heading }) => !needsProvider.includes(heading));

  test.each(runnable.map((block, index) => [`${block.heading} (${index + 1})`, block] as const))('%s', async (_name, block) => {
    const { stdout: printed } = await shell(block.lines);
    if (isSetting(block)) return;
    if (block.answer === undefined) expect(JSON.parse(printed)).not.toHaveProperty('code');
    else if (!block.isJson) expect(settled(printed)).toBe(settled(block.answer));
    else expect(withoutChance(printed)).toEqual(withoutChance(block.answer));
    await allEnded();
  });
});

test('docs/LENSES.md: the documented lines watch a lens while it streams', async () => {
  const lines = blocksIn('docs/LENSES.md').filter(({ heading }) => heading === 'Watch one write');
  expect(lines.length).toBe(3);
  const { stdout: printed } = await readerShell(folder)(lines.map((block) => block.lines).join('\n'));
  const frames = printed.slice(printed.indexOf('retry:')).split('\n\n');
  const said = frames.flatMap((frame) => {
    if (!frame.includes('event: node.stream.delta')) return [];
    return [
      z.looseObject({ payload: z.looseObject({ text: z.string() }) }).parse(JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? ''))
        .payload.text,
    ];
  });
  // Several deltas; the completion may overtake the last ones.
  expect(said.length).toBeGreaterThan(1);
  expect('Write two sentences about a folding bicycle for commuters.'.startsWith(said.join(''))).toBe(true);
  expect(
    frames
      .filter((frame) => frame.includes('event: node.completed'))
      .some((frame) => frame.includes('a folding bicycle for commuters.')),
  ).toBe(true);
  expect(frames.at(-2)).toContain('event: run.completed');
});
