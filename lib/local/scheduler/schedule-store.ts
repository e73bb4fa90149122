/** Schedules in a separate SQLite file, so they survive a restart, as on AWS. */
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';

export const definitionShape = z.looseObject({
  ScheduleExpression: z.string(),
  ScheduleExpressionTimezone: z.string().default('UTC'),
  State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
  ActionAfterCompletion: z.enum(['NONE', 'DELETE']).default('NONE'),
  Description: z.string().optional(),
  /** epoch seconds, as in requests */
  StartDate: z.number().optional(),
  EndDate: z.number().optional(),
  FlexibleTimeWindow: z.looseObject({ Mode: z.string() }),
  Target: z.looseObject({
    Arn: z.string(),
    RoleArn: z.string(),
    Input: z.string().optional(),
    SqsParameters: z.looseObject({ MessageGroupId: z.string().optional() }).optional(),
    RetryPolicy: z
      .looseObject({ MaximumRetryAttempts: z.number().optional(), MaximumEventAgeInSeconds: z.number().optional() })
      .optional(),
  }),
});

export type Definition = z.infer<typeof definitionShape>;

export interface ScheduleName {
  readonly group: string;
  readonly name: string;
}

export interface Schedule extends ScheduleName {
  readonly definition: Definition;
  readonly createdAt: number;
  /** when it is due; undefined once it is completed */
  readonly dueAt: number | undefined;
  /** when to try next: `dueAt`, or later after failed deliveries */
  readonly tryAt: number | undefined;
  readonly failures: number;
}

const rowShape = z
  .object({
    group_name: z.string(),
    name: z.string(),
    definition: z.string().transform((text) => definitionShape.parse(JSON.parse(text))),
    created_at: z.number(),
    due_at: z.number().nullable(),
    try_at: z.number().nullable(),
    failures: z.number(),
  })
  .transform((row): Schedule => ({
    group: row.group_name,
    name: row.name,
    definition: row.definition,
    createdAt: row.created_at,
    dueAt: row.due_at ?? undefined,
    tryAt: row.try_at ?? undefined,
    failures: row.failures,
  }));

export interface ScheduleStore {
  get(name: ScheduleName): Schedule | undefined;
  put(schedule: Schedule): void;
  delete(name: ScheduleName): void;
  list(group: string | undefined, namePrefix: string): readonly Schedule[];
  /** Those to be tried at `now`, the earliest first. */
  due(now: number): readonly Schedule[];
  nextTryAt(): number | undefined;
  close(): void;
}

export function openScheduleStore(file: string): ScheduleStore {
  const database = new DatabaseSync(file);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS schedules (
      group_name TEXT NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL,
      created_at INTEGER NOT NULL, due_at INTEGER, try_at INTEGER, failures INTEGER NOT NULL,
      PRIMARY KEY (group_name, name));
    CREATE INDEX IF NOT EXISTS by_try ON schedules (try_at) WHERE try_at IS NOT NULL;`);
  const get = database.prepare('SELECT * FROM schedules WHERE group_name = ? AND name = ?');
  const put = database.prepare('INSERT OR REPLACE INTO schedules VALUES (?, ?, ?, ?, ?, ?, ?)');
  const remove = database.prepare('DELETE FROM schedules WHERE group_name = ? AND name = ?');
  const list = database.prepare('SELECT * FROM schedules ORDER BY group_name, name');
  const due = database.prepare('SELECT * FROM schedules WHERE try_at <= ? ORDER BY try_at');
  const earliest = database.prepare('SELECT min(try_at) AS at FROM schedules');
  const all = (rows: readonly unknown[]): readonly Schedule[] => rows.map((row) => rowShape.parse(row));
  return {
    get({ group, name }) {
      const row = get.get(group, name);
      return row === undefined ? undefined : rowShape.parse(row);
    },
    put: ({ group, name, definition, createdAt, dueAt, tryAt, failures }) =>
      void put.run(group, name, JSON.stringify(definition), createdAt, dueAt ?? null, tryAt ?? null, failures),
    delete: ({ group, name }) => void remove.run(group, name),
    list: (group, namePrefix) =>
      all(list.all()).filter((one) => (group === undefined || one.group === group) && one.name.startsWith(namePrefix)),
    due: (now) => all(due.all(now)),
    nextTryAt: () => z.object({ at: z.number().nullable() }).parse(earliest.get()).at ?? undefined,
    close: () => database.close(),
  };
}
