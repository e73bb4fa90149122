/** docs/EVENTS.md shows each event of the bus with the schema that it has, an example that fits, and a pattern that finds it. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { busEvents } from '../../lib/codec/bus-events.ts';
import { read } from './documents.ts';

const text = read('docs/EVENTS.md');

test('every event has a heading, and no heading is of another', () => {
  const headings = [...text.matchAll(/^## ([A-Z][a-z]+ [A-Z].*)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(busEvents.map(({ detailType }) => detailType));
});

describe.each(busEvents)('$detailType', ({ source, detailType, detail }) => {
  const section = text.slice(text.indexOf(`## ${detailType}\n`)).split(/\n## /)[0] ?? '';
  const [example = '', schema = ''] = [...section.matchAll(/```json\n(.*?)```/gs)].map(([, block]) => block);

  test('its example fits', () => {
    const event = z.object({ source: z.literal(source), 'detail-type': z.literal(detailType), detail });
    expect(event.safeParse(JSON.parse(example)).error).toBeUndefined();
  });

  test('its schema is the one that the service keeps to', () => {
    expect(JSON.parse(schema)).toEqual(z.toJSONSchema(detail, { target: 'draft-2020-12' }));
  });
});
