"""adapter.safetensors: what turns the published all-MiniLM-L6-v2 into a masked language model. Data alone.

Made by one command, on a GPU:

    malaprop pretrain mlm-head --data wikitext,mr,imdb --set rank=32 --set rate=3e-3 --set batch=512 --minutes 3.3

adapter.json says on what it was trained and what it reaches on text held out.
"""
