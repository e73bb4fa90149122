/** docs/OWNERSHIP.md says what the code does: names of checks, headers, variables, places of the configuration, and their defaults. */
import { expect, test } from 'vitest';
import { diagnosticsPath } from '../../lib/app-host/app-host.ts';
import { defaultTargetWorld, hostFacts, modeVariable } from '../../lib/app-host/environment.ts';
import { ownershipReport } from '../../lib/app-host/report.ts';
import { markerHeaders } from '../../lib/app-host/unexpected-hit.ts';
import { readConfig } from '../../lib/ownership/config.ts';
import { bodyLimits } from '../../lib/app-host/read-body.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/OWNERSHIP.md');
const firstCells = (section: string) =>
  rowsIn(text)
    .filter((row) => row.section === section)
    .flatMap(({ cells: [first = ''] }) => quotedIn(first));

test('the checks are those that are made', () => {
  const made = ['lib/ownership/check-ownership.ts', 'lib/cli/actions/ownership.ts'].flatMap((path) =>
    [...read(path).matchAll(/(?:const name = |createCheck\('(?:pass|warn|fail)', |createCheck\(status, )'([a-z_]+)'/g)].map(
      ([, name]) => name,
    ),
  );
  expect(new Set(firstCells('stepwell validate-ownership'))).toEqual(new Set(made));
});

test('the marker headers are those of the rule', () => {
  const line = /has at least one of the headers (.+)\.$/m.exec(text)?.[1] ?? '';
  expect(quotedIn(line)).toEqual([...markerHeaders]);
});

test('the variables are those that are read', () => {
  const asked = new Set<string>();
  hostFacts(new Proxy({}, { get: (_env, name) => void asked.add(String(name)) }));
  expect(asked).toContain(modeVariable);
  expect(new Set(firstCells('Mounting it').filter((name) => /^[A-Z_]+$/.test(name)))).toEqual(asked);
});

test('the page, its fields and the usual world', () => {
  expect(text).toContain(`\`GET ${diagnosticsPath}\``);
  expect(text).toContain(`\`${defaultTargetWorld}\`, unless`);
  const [, json = ''] = /```json\n(\{\n {2}"remoteModeEnabled[\s\S]+?)```/.exec(text) ?? [];
  const shown: unknown = JSON.parse(json);
  expect(Object.keys(ownershipReport.parse(shown))).toEqual(Object.keys(ownershipReport.shape));
});

test('the limits of a body', () => {
  expect(bodyLimits).toEqual({ bytes: 64 * 1_024, timeoutMs: 2_000 });
});

test('the configuration has these places and defaults, and the example is valid', () => {
  const [, json = ''] = /```json\n(\{\n {2}"execution[\s\S]+?)```/.exec(text) ?? [];
  expect(readConfig(JSON.parse(json))).toMatchObject({ kind: 'valid', config: { remoteWorldTarget: defaultTargetWorld } });
  const usual = readConfig({});
  if (usual.kind !== 'valid') throw new Error('the empty configuration is valid');
  const { execution } = usual.config;
  const places = [...Object.keys(execution), 'remoteWorkerUrl'].map((key) => `/execution/${key}`);
  expect(firstCells('The configuration').toSorted()).toEqual([...places, '/url', '/remoteWorldTarget'].toSorted());
  for (const { section, cells } of rowsIn(text)) {
    if (section !== 'The configuration') continue;
    const [place = '', byDefault = ''] = cells;
    const value = Object.entries(execution).find(([key]) => place === `\`/execution/${key}\``)?.[1];
    if (value !== undefined) expect(byDefault.replaceAll(/[`,]/g, '')).toBe(String(value));
  }
});
