/** The pages that answer for the two documents name nothing that is not there, and the index of decisions names every page. */
import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { routes } from '../../lib/api/routes.ts';
import { deltaEventName, derivedEventNames, heartbeatEventName, publicEventNames } from '../../lib/engine/log/event-names.ts';
import { allTopologies } from '../conformance/topologies/all.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const folder = 'docs/decisions';
const root = new URL('../../', import.meta.url);

describe.each(['the-graph-document-row-by-row', 'the-lens-document-row-by-row'])('%s', (page) => {
  const text = read(`${folder}/${page}.md`);
  const rows = rowsIn(text).filter(({ cells }) => cells.length === 3);
  const said = rows.map(({ cells }) => cells[2] ?? '');
  const quoted = said.flatMap(quotedIn);

  test('each row is the same, different or absent, and a row that is not the same has an explanation', () => {
    expect(rows.length).toBeGreaterThan(90);
    for (const {
      cells: [row, verdict, here],
    } of rows) {
      expect(['same', 'different', 'absent'], row).toContain(verdict);
      if (verdict !== 'same') expect(here, row).not.toBe('');
    }
  });

  test('the files that it names are there', () => {
    const paths = quoted.filter((each) => /^(lib|functions|test|examples|docs)\//.test(each));
    expect(paths.length).toBeGreaterThan(4);
    expect(paths.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  test('its links lead somewhere', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)(?:#([a-z-]+))?\)/g)].map(([, path = '', heading]) => ({ path, heading }));
    for (const { path, heading } of links) {
      const target = read(`${folder}/${path}`);
      const headings = [...target.matchAll(/^#+ (.+)$/gm)].map(([, words = '']) => words.toLowerCase().replaceAll(' ', '-'));
      if (heading !== undefined) expect(headings, path).toContain(heading);
    }
  });

  test('the routes that it names are routes', () => {
    const known = new Set<string>(routes.map(({ method, path }) => `${method} ${path}`));
    const named = quoted.filter((each) => /^(GET|POST|DELETE) /.test(each));
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((each) => !known.has(each))).toEqual([]);
  });

  test('the events that it names are events', () => {
    const known = new Set<string>([...publicEventNames, ...Object.values(derivedEventNames), deltaEventName, heartbeatEventName]);
    const named = quoted.filter((each) => /^(run|node|input|system|contract|moderation|loop|signal)\.[a-z_.]+$/.test(each));
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((each) => !known.has(each))).toEqual([]);
  });

  test('the topologies that it names are played', () => {
    const known = new Set(allTopologies.map(({ name }) => name));
    const named = said.filter((here) => here.startsWith('topolog')).flatMap((here) => quotedIn(here.split(';')[0] ?? ''));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((each) => !known.has(each))).toEqual([]);
  });
});

test('the events of the lens document that are told are told as said', () => {
  const rows = rowsIn(read(`${folder}/the-lens-document-row-by-row.md`)).filter(({ section }) => section === 'Events');
  const known = new Set<string>([...publicEventNames, ...Object.values(derivedEventNames), deltaEventName, heartbeatEventName]);
  for (const {
    cells: [row = '', verdict],
  } of rows) {
    const names = quotedIn(row).filter((each) => /^(run|node|contract|moderation)\.|^heartbeat$/.test(each));
    for (const name of names) expect([name, known.has(name)]).toEqual([name, verdict === 'same']);
  }
});

test('every decision is in the index, under its own name', () => {
  const pages = readdirSync(new URL(folder, root)).filter((file) => file !== 'README.md');
  const listed = rowsIn(read(`${folder}/README.md`)).map(({ cells: [page] }) => page);
  expect(listed).toHaveLength(pages.length);
  expect(new Set(listed)).toEqual(new Set(pages.map((file) => `[${file.replace('.md', '')}](${file})`)));
});
