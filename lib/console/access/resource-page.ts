/** The page of what an audit entry is about. */
import type { JsonValue } from '../../engine/json.ts';

const pages: Readonly<Record<string, (id: string) => string>> = {
  run: (id) => `/runs/${id}`,
  workflow: (id) => `/workflows/${id}`,
  schedule: (id) => `/schedules/${id}`,
};

/** Undefined: the console has no page of it. */
export function pageOf(resource: string, metadata: Readonly<Record<string, JsonValue>>): string | undefined {
  const [, kind = '', id = ''] = /^([a-z]+)\/(.+)$/.exec(resource) ?? [];
  const page = Object.hasOwn(pages, kind) ? pages[kind] : undefined;
  if (page !== undefined) return page(encodeURIComponent(id));
  const { runId } = metadata;
  return typeof runId === 'string' ? `/runs/${encodeURIComponent(runId)}` : undefined;
}
