/** Members of ports that call nothing outside the process, and return at once. */
const inProcess: ReadonlySet<string | symbol> = new Set(['recognize', 'guess']);

export const isInProcess = (member: string | symbol): boolean => inProcess.has(member);
