/** The author's logger. It writes one line per call, and nothing during a replay. */
export interface ProgramLog {
  debug(message: unknown, data?: unknown): void;
  info(message: unknown, data?: unknown): void;
  warn(message: unknown, data?: unknown): void;
  error(message: unknown, data?: unknown): void;
}

type Level = keyof ProgramLog;
export type Print = (level: Level, line: string) => void;

export function programLog(print: Print, isSilent: () => boolean): ProgramLog {
  const logAt = (level: Level) => (message: unknown, data?: unknown) => {
    if (!isSilent()) print(level, data === undefined ? String(message) : `${String(message)} ${formatData(data)}`);
  };
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
}

function formatData(data: unknown): string {
  try {
    if (data instanceof Error) return data.stack ?? String(data);
    return JSON.stringify(data) ?? String(data);
  } catch {
    return String(data);
  }
}
