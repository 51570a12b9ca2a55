"""Recipes by name: each a short function that cites its paper and names where it differs."""

from malaprop.core.catalogue import Catalogue

RECIPES = Catalogue(
    "recipe",
    {
        "pwws": "malaprop.attacks.recipes.words:pwws",
        "textfooler": "malaprop.attacks.recipes.words:textfooler",
        "genetic": "malaprop.attacks.recipes.words:genetic",
        "list": "malaprop.attacks.recipes.oneword:one_word_list",
        "random": "malaprop.attacks.recipes.oneword:random",
        "gs-gr": "malaprop.attacks.recipes.oneword:gs_gr",
        "gs-ec": "malaprop.attacks.recipes.oneword:gs_ec",
        "asmax-gr": "malaprop.attacks.recipes.oneword:asmax_gr",
        "asmin-gr": "malaprop.attacks.recipes.oneword:asmin_gr",
        "asmax-ec": "malaprop.attacks.recipes.oneword:asmax_ec",
        "asmin-ec": "malaprop.attacks.recipes.oneword:asmin_ec",
        "beam": "malaprop.attacks.recipes.words:beam",
        "bae": "malaprop.attacks.recipes.masked:bae",
        "bert-attack": "malaprop.attacks.recipes.masked:bert_attack",
        "rules": "malaprop.attacks.recipes.rules:rules",
        "trigger": "malaprop.attacks.recipes.trigger:trigger",
        "deepwordbug": "malaprop.attacks.recipes.chars:deepwordbug",
        "typos": "malaprop.attacks.recipes.chars:typos",
        "keyboard": "malaprop.attacks.recipes.chars:keyboard",
        "homoglyph": "malaprop.attacks.recipes.chars:homoglyph",
        "hotflip-char": "malaprop.attacks.recipes.hotflip:hotflip_char",
        "hotflip-char-greedy": "malaprop.attacks.recipes.hotflip:hotflip_char_greedy",
        "hotflip-word": "malaprop.attacks.recipes.hotflip:hotflip_word",
        "key": "malaprop.attacks.recipes.hotflip:key",
        "key*": "malaprop.attacks.recipes.hotflip:key_star",
        # presets: a recipe with other defaults
        "pwws:paper": "malaprop.attacks.recipes.presets:pwws_paper",
        "pwws:textattack": "malaprop.attacks.recipes.presets:pwws_textattack",
        "textfooler:paper": "malaprop.attacks.recipes.presets:textfooler_paper",
        "textfooler:original": "malaprop.attacks.recipes.presets:textfooler_original",
        "textfooler:textattack": "malaprop.attacks.recipes.presets:textfooler_textattack",
        "genetic:paper": "malaprop.attacks.recipes.presets:genetic_paper",
        "genetic:textattack": "malaprop.attacks.recipes.presets:genetic_textattack",
        "genetic:openattack": "malaprop.attacks.recipes.presets:genetic_openattack",
        "deepwordbug:textattack": "malaprop.attacks.recipes.presets:deepwordbug_textattack",
    },
)
