/** Whether a text leaves the choice to the helper: the word `auto`, in any case. */
export function isAuto(text: string): boolean {
  return text.toLowerCase() === 'auto';
}
