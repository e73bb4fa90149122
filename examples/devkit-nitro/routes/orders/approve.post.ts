import { defineHandler } from 'nitro';
import { resumeHook } from 'workflow/api';

/** Resumes the hook of the order for this item. */
export default defineHandler(async ({ req }): Promise<Response> => {
  const form = await req.formData();
  const { runId } = await resumeHook(`approve:${String(form.get('item'))}`, { by: String(form.get('by')) });
  return Response.json({ runId });
});
