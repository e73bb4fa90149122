/** The messages of frequent mistakes in a node name the way out. */
import { expect, it } from 'vitest';
import { nodeId } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { findingsOf } from '../../lib/nodes/catalogue.ts';

const messagesOf = (type: string, config: JsonObject): readonly string[] =>
  findingsOf({ id: nodeId('n'), type, config }, '').map(
    ({ pointer, message }) => `${pointer.slice('/config'.length)} ${message}`,
  );

it.each<[string, string, JsonObject, string]>([
  ['a missing setting', 'http', {}, '/url is required'],
  ['a missing part of a setting', 'condition', { branches: [{ conditions: [] }] }, '/branches/0/id is required'],
  [
    'a setting that the type does not have',
    'delay',
    { seconds: 3 },
    '/seconds a delay node has no setting seconds; its own are delayType, delayMinutes, delaySeconds, delayMs, delayVariable, untilTime',
  ],
  [
    'a setting of a type without settings',
    'start',
    { input: 1 },
    '/input a start node has no setting input; it has none of its own',
  ],
  [
    'a setting that a retry does not have',
    'javascript',
    { code: 'return 1', retry: { maxAttempts: 3 } },
    '/retry/maxAttempts retry has no setting maxAttempts; it has attempts, backoffMs, maxBackoffMs, retryOn',
  ],
  [
    'a path without ctx',
    'http',
    { url: 'https://example.com/{{input.order.id}}' },
    '/url a path begins with ctx, not with input: write {{ctx.input.order.id}}',
  ],
  [
    'a path of another product',
    'http',
    { url: 'https://example.com/{{steps.total.output}}' },
    '/url a path begins with ctx, not with steps: {{ctx.input}} is the input of the run, and {{ctx.name}} the output of the node with the outputVariable name',
  ],
  [
    'a template in a script',
    'javascript',
    { code: 'return {{ctx.input.a}};' },
    '. A script has no templates: write ctx.input.a, not {{ctx.input.a}}',
  ],
])('%s', (_what, type, config, message) => {
  expect(messagesOf(type, config)).toContainEqual(expect.stringContaining(message));
});
