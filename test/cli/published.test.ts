/** `lenses …` and `queries …`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import * as lenses from '../../lib/api/schemas/lenses.ts';
import * as queries from '../../lib/api/schemas/queries.ts';
import * as versions from '../../lib/api/schemas/versions.ts';
import { type TestCli, createCliEnvironment, dataIn, errorIn, createFolder } from './test-cli.ts';

let admin: TestCli;
let cwd: string;
beforeEach(async () => {
  cwd = createFolder();
  admin = await createCliEnvironment().cliWithScopes(['admin'], { cwd });
});
const write = (name: string, value: unknown): string => {
  writeFileSync(join(cwd, name), JSON.stringify(value));
  return name;
};
const lens = { name: 'tone', kind: 'text', template: 'Say [[it]]', description: 'ä', params: { temperature: 0.5 } };
const query = {
  name: 'find',
  kind: 'postgres',
  connection: 'db',
  statement: 'select :id',
  parameters: [{ name: 'id', type: 'string' }],
};

const kinds = [
  {
    plural: 'lenses',
    noun: 'lens',
    body: lens,
    bad: { ...lens, output: { jsonSchema: { type: 'nothing' } } },
    fault: 'lens_invalid',
    published: lenses.publishedLensResponse,
    shown: lenses.lensResponse,
    row: lenses.lensList.shape.data.unwrap().element,
    line: /^tone +2 /m,
  },
  {
    plural: 'queries',
    noun: 'query',
    body: query,
    bad: { ...query, statement: 'select :unknown' },
    fault: 'definition_invalid',
    published: versions.publishedResponse,
    shown: queries.queryResponse,
    row: queries.queryList.shape.data.unwrap().element,
    line: /^find +postgres +2 /m,
  },
] as const;

describe.each(kinds)('$plural', ({ plural, noun, body, bad, fault, published, shown, row, line }) => {
  const { name } = body;
  const list = async (...more: readonly string[]) => {
    const shape = z.strictObject({ items: z.array(row), hasMore: z.boolean() });
    return dataIn(await admin.type('--json', plural, 'list', ...more), shape).items.map((each) => each.name);
  };

  test('publish creates version 1 and then version 2; get prints a publishable definition', async () => {
    const file = write('it.json', body);
    expect((await admin.type(plural, 'publish', file)).out).toBe(`${name}@1\n`);
    expect(dataIn(await admin.type('--json', plural, 'publish', file), published).version).toBe(2);
    const { out, err } = await admin.type(plural, 'get', name);
    expect(err).toMatch(new RegExp(`^${name}@2, created `));
    const repeated = JSON.parse(out);
    expect(repeated).toMatchObject(body);
    expect((await admin.type(plural, 'publish', write('again.json', repeated))).out).toBe(`${name}@3\n`);
    expect(dataIn(await admin.type('--json', plural, 'get', name, '--version-number', '1'), shown).version).toBe(1);
  });

  test('publish prints each finding with its pointer; without a name it sends nothing', async () => {
    const refused = await admin.type('--json', plural, 'publish', write('bad.json', bad));
    const { errors } = z.object({ errors: z.array(z.unknown()) }).parse(errorIn(refused));
    expect([refused.exitCode, errorIn(refused).code]).toEqual([1, fault]);
    expect(errors[0]).toMatchObject({ pointer: expect.stringMatching(/^\//) });
    const before = admin.sent.length;
    for (const wrong of [{ ...body, name: undefined }, { ...body, name: '../x' }, [body]])
      expect((await admin.type(plural, 'publish', write('wrong.json', wrong))).exitCode).toBe(3);
    expect(admin.sent).toHaveLength(before);
  });

  test('archive hides a name from the list, and publish restores it', async () => {
    expect((await admin.type(plural, 'list')).out).toBe(`No ${noun} matches.\n`);
    for (let n = 0; n < 2; n += 1) await admin.type(plural, 'publish', write('it.json', body));
    expect((await admin.type(plural, 'list')).out).toMatch(line);
    expect((await admin.type(plural, 'archive', name)).out).toMatch(new RegExp(`^${name} is archived since `));
    expect([await list(), await list('--archived')]).toEqual([[], [name]]);
    expect((await admin.type(plural, 'get', name)).err).toMatch(/, archived \d{4}-/);
    const { out, err } = await admin.type(plural, 'publish', write('it.json', body));
    expect([out, err]).toEqual([`${name}@3\n`, `The ${noun} ${name} was archived; publishing this version unarchived it.\n`]);
    expect(await list()).toEqual([name]);
    expect((await admin.type(plural, 'publish', write('it.json', body))).err).toBe('');
  });

  test('an unknown name exits with 1', async () => {
    for (const command of ['get', 'archive']) {
      const answer = await admin.type('--json', plural, command, 'missing');
      expect([answer.exitCode, errorIn(answer).code]).toEqual([1, `${noun}_not_found`]);
    }
  });
});
