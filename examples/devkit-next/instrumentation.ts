/** Next.js calls this once when the server starts. The World then registers the address at which this server takes messages. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { getWorld } = await import('workflow/runtime');
  const world = await getWorld();
  await world.start?.();
}
