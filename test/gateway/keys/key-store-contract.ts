export async function rejection(work: unknown): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('It should have been rejected.');
}
