/** The examples of the OpenAPI document: the requests and responses of docs/API.md, which a test runs against the service. */
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { defined } from '../../lib/base/defined.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { ApiExamples } from '../../lib/api/openapi.ts';
import type { Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';

const root = new URL('../../', import.meta.url);
const sectionHeading = /^### ([A-Z]+) (\/\S+)$/m;
const json = z.json();
const exampleRun = 'wrun_01M7XSDTEE14XW69VBQD8BT3DC';

/** The examples by operation, from the text of docs/API.md: for each, the first values that its schemas accept. */
export function apiExamples(document: string): ApiExamples {
  const examples: Record<string, ApiExamples[string]> = {};
  // A variable of the shell holds a run id in every body.
  for (const section of document.replaceAll(/'"?\$[A-Z]+"?'/g, exampleRun).split(/^(?=##+ )/m)) {
    const [, method, path] = sectionHeading.exec(section) ?? [];
    const route: Route | undefined = routes.find((each) => each.method === method && each.path === path);
    if (route === undefined) continue;
    const documents = [...section.matchAll(/^```json\n(.*?)^```/gms)].map(([, text = '']) => json.parse(JSON.parse(text)));
    const request = [...requestsIn(section), ...documents].find((value) => route.body?.schema.safeParse(value).success);
    const response = documents.find((value) =>
      Object.values(route.responses).some(({ schema }) => schema.safeParse(value).success),
    );
    examples[route.operationId] = defined({ request, response });
  }
  return examples;
}

/** The JSON that lines of curl send, written in the line or in a file of the examples. */
const requestsIn = (section: string): readonly JsonValue[] =>
  [...section.matchAll(/ -d (?:'(\{.*?\})'|@(examples\/\S+))/gs)].flatMap(([, inline, file]) => {
    const text = file === undefined ? inline : readFileSync(new URL(file, root), 'utf8');
    return text === undefined ? [] : [json.parse(JSON.parse(text))];
  });
